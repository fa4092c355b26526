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
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        answered_by, wall_clock,
        put AND operation_id IS NULL AS unattributed,
        unnest([
            {place: 1, name: 'human_wait', us: human_wait_us},
            {place: 2, name: 'between_rounds', us: between_rounds_us},
            {place: 3, name: 'ceremony', us: ceremony_us},
            {place: 4, name: 'resume', us: resume_us},
            {place: 5, name: 'time_to_resume', us: time_to_resume_us}
        ], recursive := true)
    FROM picked
),
measured AS (
    SELECT *, us IS NOT NULL AND coalesce(answered_by = 'person_claimed', true) AS counted
    FROM intervals
),
summed AS (
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day, place, name,
        count(*) FILTER (counted) AS count,
        quantile_disc(us, [0.5, 0.9, 0.99]) FILTER (counted) AS quantiles,
        max(us) FILTER (counted) AS longest,
        count(*) FILTER (us IS NOT NULL AND answered_by = 'automatic_suspected') AS automatic,
        count(*) FILTER (us IS NOT NULL AND answered_by = 'unknown') AS unknown,
        count(*) FILTER (counted AND wall_clock) AS wall_clock,
        count(*) FILTER (unattributed) AS unattributed
    FROM measured
    GROUP BY ALL
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    name AS interval,
    count,
    quantiles[1] / 1e6 AS p50_seconds,
    quantiles[2] / 1e6 AS p90_seconds,
    quantiles[3] / 1e6 AS p99_seconds,
    longest / 1e6 AS max_seconds,
    automatic,
    unknown,
    wall_clock,
    unattributed
FROM summed
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day, place;
