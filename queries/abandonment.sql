-- title: Which questions nobody ended
-- answers: Of the questions put, how many were left: abandoned (connection or wait ended), expired (their
--   time to live ran out), unproven (a URL consented to and never proved complete), beside those withdrawn
--   by server or client before an answer. unanswered are the abandoned and expired whose last round had no
--   answer of any kind. abandonment_rate = (abandoned + expired + unproven) / put. p50_seconds and
--   p90_seconds: how long after they were first put the left ones ended, by the wall clock.
-- rates: abandonment_rate of put
-- quantiles: of left
--
-- By hand: run picked.sql first; it says how.
WITH ended AS (
    SELECT
        picked.*,
        standing IN ('abandoned', 'expired', 'unproven') AS is_left,
        epoch_us(left_at) AS end_us
    FROM picked
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    count(*) FILTER (put) AS put,
    count(*) FILTER (standing = 'abandoned') AS abandoned,
    count(*) FILTER (standing = 'expired') AS expired,
    count(*) FILTER (standing = 'unproven') AS unproven,
    count(*) FILTER (is_left) AS left,
    count(*) FILTER (standing = 'withdrawn') AS withdrawn,
    count(*) FILTER (unanswered) AS unanswered,
    count(*) FILTER (put AND is_left) / nullif(count(*) FILTER (put), 0) AS abandonment_rate,
    -- A clock that ran backwards gives no time below zero.
    quantile_disc(greatest(end_us - epoch_us(put_at), 0) / 1e6, 0.5) FILTER (is_left) AS p50_seconds,
    quantile_disc(greatest(end_us - epoch_us(put_at), 0) / 1e6, 0.9) FILTER (is_left) AS p90_seconds
FROM ended
GROUP BY ALL
ORDER BY ALL;
