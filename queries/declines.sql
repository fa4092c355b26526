-- title: Who said no
-- answers: How many questions a person declined or cancelled (as the client claims), beside what no person
--   decided: automatic, answers of any kind that came sooner than a person could give them; runtime,
--   endings by client, server or time; policy, blocked before it was put; unknown, endings nobody can be
--   named for. decline_rate and cancel_rate are shares of put.
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
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    count(*) FILTER (put) AS put,
    count(*) FILTER (standing = 'declined') AS declined,
    count(*) FILTER (standing = 'cancelled') AS cancelled,
    count(*) FILTER (standing = 'automatic') AS automatic,
    count(*) FILTER (
        decided_by = 'runtime' AND standing NOT IN ('completed', 'automatic', 'unknown', 'open')
    ) AS runtime,
    count(*) FILTER (decided_by = 'policy') AS policy,
    count(*) FILTER (
        standing = 'unknown' OR (decided_by = 'unknown' AND standing NOT IN ('automatic', 'open'))
    ) AS unknown,
    coalesce(sum(rounds) FILTER (put), 0)::BIGINT AS rounds,
    count(*) FILTER (standing = 'declined') / nullif(count(*) FILTER (put), 0) AS decline_rate,
    count(*) FILTER (standing = 'cancelled') / nullif(count(*) FILTER (put), 0) AS cancel_rate
FROM picked
GROUP BY ALL
ORDER BY ALL;
