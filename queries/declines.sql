-- title: Who said no
-- answers: How many questions a person declined or cancelled (as the client claims), beside what no person
--   decided: automatic, answers of any kind that came sooner than a person could give them; runtime,
--   endings by client, server or time; policy, blocked before it was put; unknown, endings nobody can be
--   named for. decline_rate and cancel_rate are shares of put.
-- rates: decline_rate, cancel_rate of put
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
