-- title: How long questions took
-- answers: Exact quantiles, in seconds, of five intervals, each summed over an elicitation's rounds:
--   human_wait (question to answer), between_rounds (answer to next question), ceremony (URL consented to
--   completed), resume (last answer or completion to the operation's result), time_to_resume (first question
--   to the operation's result, where there was an answer). count is of elicitations; those answered
--   sooner than a person could (automatic) or by nobody that can be named (unknown) are left out of it and
--   of the quantiles. wall_clock: how many of count rest on more than one watcher's clock. unattributed:
--   questions whose operation cannot be told, which therefore never resume.
--   A quantile is the smallest interval that share of the elicitations did not exceed.
-- quantiles: of count
--
-- By hand: run picked.sql first; it says how.
WITH intervals AS (
    SELECT *, unnest([
        {place: 1, name: 'human_wait', us: human_wait_us},
        {place: 2, name: 'between_rounds', us: between_rounds_us},
        {place: 3, name: 'ceremony', us: ceremony_us},
        {place: 4, name: 'resume', us: resume_us},
        {place: 5, name: 'time_to_resume', us: time_to_resume_us}
    ]) AS span
    FROM picked
),
measured AS (
    SELECT
        *,
        span.us / 1e6 AS seconds,
        span.us IS NOT NULL AND coalesce(answered_by = 'person_claimed', true) AS counted
    FROM intervals
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    span.name AS interval,
    count(*) FILTER (counted) AS count,
    quantile_disc(seconds, 0.5) FILTER (counted) AS p50_seconds,
    quantile_disc(seconds, 0.9) FILTER (counted) AS p90_seconds,
    quantile_disc(seconds, 0.99) FILTER (counted) AS p99_seconds,
    max(seconds) FILTER (counted) AS max_seconds,
    count(*) FILTER (seconds IS NOT NULL AND answered_by = 'automatic_suspected') AS automatic,
    count(*) FILTER (seconds IS NOT NULL AND answered_by = 'unknown') AS unknown,
    count(*) FILTER (counted AND wall_clock) AS wall_clock,
    count(*) FILTER (put AND operation_id IS NULL) AS unattributed
FROM measured
GROUP BY mode, carrier, server, client, flow, tool, policy_version, day, span.place, span.name
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day, span.place;
