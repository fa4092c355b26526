-- title: How questions ended
-- answers: How many questions were put, how each ended, and which share was completed. A question stands
--   in one column and is counted once, however many rounds it took. accepted, completed, declined,
--   cancelled and invalid are a person's as the client claims; automatic came sooner than a person could
--   answer; unknown cannot be attributed. blocked was stopped by policy and never put; unsupported also
--   counts operations refused before anything could be asked (-32021), which were never put either.
--   completion_rate = (accepted forms and task inputs + completed URLs) / put.
-- rates: completion_rate of put
--
-- By hand: run picked.sql first; it says how.
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    count(*) FILTER (put) AS put,
    count(*) FILTER (standing = 'accepted') AS accepted,
    count(*) FILTER (standing = 'completed') AS completed,
    count(*) FILTER (standing = 'automatic') AS automatic,
    count(*) FILTER (standing = 'unknown') AS unknown,
    count(*) FILTER (standing = 'declined') AS declined,
    count(*) FILTER (standing = 'cancelled') AS cancelled,
    count(*) FILTER (standing = 'invalid') AS invalid,
    count(*) FILTER (standing = 'malformed') AS malformed,
    count(*) FILTER (standing = 'ambiguous') AS ambiguous,
    count(*) FILTER (standing = 'unsupported') AS unsupported,
    count(*) FILTER (standing = 'errored') AS errored,
    count(*) FILTER (standing = 'blocked') AS blocked,
    count(*) FILTER (standing = 'withdrawn') AS withdrawn,
    count(*) FILTER (standing = 'expired') AS expired,
    count(*) FILTER (standing = 'abandoned') AS abandoned,
    count(*) FILTER (standing = 'unproven') AS unproven,
    count(*) FILTER (standing = 'open') AS open,
    coalesce(sum(rounds) FILTER (put), 0)::BIGINT AS rounds,
    (
        count(*) FILTER (standing = 'completed')
        + count(*) FILTER (standing = 'accepted' AND question_mode IN ('form', 'task_input'))
    ) / nullif(count(*) FILTER (put), 0) AS completion_rate
FROM picked
GROUP BY ALL
ORDER BY ALL;
