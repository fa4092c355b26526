-- title: How long questions took
-- answers: Exact quantiles, in seconds, of five intervals, each summed over an elicitation's rounds:
--   human_wait (question to answer), between_rounds (answer to next question), ceremony (URL consented to
--   completed), resume (last answer or completion to the operation's result), time_to_resume (first question
--   to the operation's result, where there was an answer). count is of elicitations; those answered
--   sooner than a person could (automatic) or by nobody that can be named (unknown) are left out of it and
--   of the quantiles. wall_clock: how many of count rest on more than one watcher's clock. unattributed:
--   questions whose operation cannot be told, which therefore never resume.
--   A quantile is the smallest interval that share of the elicitations did not exceed.
-- parameter: by dimensions Split the figures by these: mode, carrier, server, client, flow, tool,
--   policy_version, day (UTC). Repeat it or separate them with commas.
-- parameter: since time Only questions first put at this time or later: an ISO 8601 date or time (UTC
--   where it names no zone), or how long ago (90min, 24h, 7d, 2w).
-- parameter: until time Only questions first put before this time.
-- parameter: mode modes Only this mode: form, url, task_input, unknown. Repeatable, as all filters are.
-- parameter: carrier carriers Only this carrier: server_request, url_required_error, multi_round_trip,
--   task.
-- parameter: server names Only servers that give themselves this name.
-- parameter: client names Only clients that give themselves this name.
-- parameter: flow names Only this flow, as policy or a setting names it.
-- parameter: tool names Only this tool or prompt.
-- parameter: policy_version names Only questions judged under this version of the policy.
-- parameter: day days Only questions first put on this day (UTC, YYYY-MM-DD).
-- parameter: include_replay flag Count replayed recordings too. Without it they count only in a database
--   that holds nothing else.
-- parameter: all_vantages flag Count what every watcher saw, also where two watched one session.
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
