-- title: Where people were sent, and what came of it
-- answers: Questions that sent a person to a URL, by its origin (scheme, host and port; never more): how many
--   were put, to how many somebody consented, which of those were completed by a person's consent or a
--   client's retry, automatic (consented sooner than a person could), and unproven (never proved complete).
--   Then which proof the completed have, of any answer: server_notification, operation_result,
--   status_check, authenticated_callback. completion_rate = completed / put. p50_seconds and p90_seconds:
--   the ceremony, from consent to completion.
-- rates: completion_rate of put
-- quantiles: of completed
-- pooled: origin by put
--
-- By hand: run picked.sql first; it says how.
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    url_origin AS origin,
    count(*) FILTER (put) AS put,
    count(*) FILTER (answered_by IS NOT NULL AND state IN ('consented', 'completed', 'unproven'))
        AS consented,
    count(*) FILTER (standing = 'completed') AS completed,
    count(*) FILTER (standing = 'automatic') AS automatic,
    count(*) FILTER (standing = 'unproven') AS unproven,
    count(*) FILTER (state = 'completed' AND proof = 'server_notification') AS server_notification,
    count(*) FILTER (state = 'completed' AND proof = 'operation_result') AS operation_result,
    count(*) FILTER (state = 'completed' AND proof = 'status_check') AS status_check,
    count(*) FILTER (state = 'completed' AND proof = 'authenticated_callback')
        AS authenticated_callback,
    count(*) FILTER (put AND standing = 'completed') / nullif(count(*) FILTER (put), 0)
        AS completion_rate,
    quantile_disc(ceremony_us / 1e6, 0.5) FILTER (standing = 'completed') AS p50_seconds,
    quantile_disc(ceremony_us / 1e6, 0.9) FILTER (standing = 'completed') AS p90_seconds
FROM picked
WHERE presentation = 'url' OR question_mode = 'url'
GROUP BY ALL
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day, put DESC, origin;
