-- How long questions took, counted into buckets: the least bound a wait does not exceed, NULL for those
-- beyond all. Run questions.sql first.
--
--   bounds   list of upper bounds in seconds
--
-- Which waits count is as in the report `resume`.
WITH waited AS (
    SELECT mode, span.name AS interval, span.us / 1e6 AS seconds
    FROM (
        SELECT *, unnest([
            {name: 'human_wait', us: human_wait_us},
            {name: 'ceremony', us: ceremony_us},
            {name: 'time_to_resume', us: time_to_resume_us}
        ]) AS span
        FROM named
    )
    WHERE span.us IS NOT NULL AND coalesce(answered_by = 'person_claimed', true)
)
SELECT
    interval,
    mode,
    list_min(list_filter(getvariable('bounds')::DOUBLE[], lambda bound: seconds <= bound)) AS bound,
    count(*) AS waits,
    sum(seconds) AS seconds
FROM waited
GROUP BY ALL
ORDER BY interval, mode, bound NULLS LAST;
