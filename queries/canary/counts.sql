-- What a canary compares: how the questions of two arms ended. Run picked.sql first, with `by` naming
-- the column compared where it is one of the dimensions.
--
--   compare               what the arms differ in: server, server_version, client, client_version,
--                         flow, tool, policy_version, protocol_version, environment
--   baseline, candidate   its two values
--   settled               questions put later may still be answered, and are left out: an arm would
--                         look good by being slow (TIMESTAMP, UTC)
--
-- The view `arms` keeps the questions for waits.sql. A row an arm that has any: how many were put, how
-- many of these each measure counts, and how many waits were measured.
CREATE OR REPLACE TEMP VIEW arms AS
WITH compared AS (
    SELECT *, CASE getvariable('compare')
        WHEN 'server' THEN server
        WHEN 'server_version' THEN server_version
        WHEN 'client' THEN client
        WHEN 'client_version' THEN client_version
        WHEN 'flow' THEN flow
        WHEN 'tool' THEN tool
        WHEN 'policy_version' THEN policy_version
        WHEN 'protocol_version' THEN protocol_version
        WHEN 'environment' THEN environment
    END AS value
    FROM picked
)
SELECT
    *,
    CASE value
        WHEN getvariable('baseline') THEN 'baseline'
        WHEN getvariable('candidate') THEN 'candidate'
    END AS arm,
    -- As in the report `resume`: a wait for a machine's answer is nobody's.
    coalesce(answered_by = 'person_claimed', true) AS is_human
FROM compared
WHERE put AND arm IS NOT NULL AND put_at < getvariable('settled')::TIMESTAMP;

SELECT
    arm,
    count(*) AS put,
    count(*) FILTER (
        standing = 'completed' OR (standing = 'accepted' AND question_mode IN ('form', 'task_input'))
    ) AS completion,
    count(*) FILTER (standing = 'declined') AS decline,
    count(*) FILTER (standing = 'cancelled') AS cancel,
    count(*) FILTER (standing = 'invalid') AS invalid,
    count(*) FILTER (standing IN ('unsupported', 'errored')) AS runtime_refusal,
    count(*) FILTER (standing IN ('abandoned', 'expired', 'unproven')) AS abandonment,
    count(*) FILTER (rounds > 1) AS repeats,
    count(human_wait_us) FILTER (is_human) AS human_wait,
    count(time_to_resume_us) FILTER (is_human) AS time_to_resume
FROM arms
GROUP BY arm;
