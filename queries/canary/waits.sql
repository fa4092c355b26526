-- The waits at certain ranks (from 1, shortest first) of each arm, in seconds. Run counts.sql first.
--
--   measure                          human_wait or time_to_resume
--   baseline_ranks, candidate_ranks  lists of the ranks wanted of each
WITH ranked AS (
    SELECT
        arm,
        CASE getvariable('measure')
            WHEN 'human_wait' THEN human_wait_us
            WHEN 'time_to_resume' THEN time_to_resume_us
        END / 1e6 AS seconds,
        row_number() OVER (PARTITION BY arm ORDER BY seconds) AS rank
    FROM arms
    WHERE is_human AND seconds IS NOT NULL
)
SELECT arm, rank, seconds
FROM ranked
WHERE list_contains(
    CASE arm
        WHEN 'baseline' THEN getvariable('baseline_ranks')::BIGINT[]
        ELSE getvariable('candidate_ranks')::BIGINT[]
    END,
    rank
);
