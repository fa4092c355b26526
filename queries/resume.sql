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
-- What is told of one interval. `us` is read as it stands: a row an interval would be five times the rows.
CREATE OR REPLACE TEMP MACRO told_of(place, name, us) AS {
    place: place,
    name: name,
    count: count(*) FILTER (us IS NOT NULL AND coalesce(answered_by = 'person_claimed', true)),
    quantiles: quantile_disc(us, [0.5, 0.9, 0.99])
        FILTER (us IS NOT NULL AND coalesce(answered_by = 'person_claimed', true)),
    longest: max(us) FILTER (coalesce(answered_by = 'person_claimed', true)),
    automatic: count(*) FILTER (us IS NOT NULL AND answered_by = 'automatic_suspected'),
    unknown: count(*) FILTER (us IS NOT NULL AND answered_by = 'unknown'),
    wall_clock: count(*) FILTER (
        us IS NOT NULL AND coalesce(answered_by = 'person_claimed', true) AND wall_clock
    ),
    unattributed: count(*) FILTER (put AND operation_id IS NULL)
};

WITH summed AS (
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        [
            told_of(1, 'human_wait', human_wait_us),
            told_of(2, 'between_rounds', between_rounds_us),
            told_of(3, 'ceremony', ceremony_us),
            told_of(4, 'resume', resume_us),
            told_of(5, 'time_to_resume', time_to_resume_us)
        ] AS intervals
    FROM picked
    GROUP BY mode, carrier, server, client, flow, tool, policy_version, day
),
listed AS (
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        unnest(intervals, recursive := true)
    FROM summed
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
FROM listed
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day, place;
