-- title: What is still open
-- answers: Questions in flight, by kind: open (put, not answered) and consented (a URL accepted and not yet
--   proved complete). count is how many; with_limit of them have a time to live, overdue are past it and
--   nobody has said so yet. p50_seconds and max_seconds are their age, p50_left_seconds is the time to
--   live that is left of those not overdue. Ages are taken at as_of.
-- quantiles: of count
-- parameter: as_of time Take ages at this time instead of now.
--
-- By hand: run picked.sql first; it says how.
WITH limited AS (
    SELECT
        picked.*,
        coalesce(getvariable('as_of')::TIMESTAMP, now() AT TIME ZONE 'UTC') AS moment,
        (
            SELECT arg_max(expires_at, sequence) FROM receipts
            WHERE receipts.elicitation_id = picked.elicitation_id
        ) AS expires_at
    FROM picked
    WHERE standing = 'open'
),
timed AS (
    SELECT
        *,
        -- A clock that ran backwards gives no age below zero.
        greatest(epoch_us(moment) - epoch_us(put_at), 0) / 1e6 AS age,
        (epoch_us(expires_at) - epoch_us(moment)) / 1e6 AS left_seconds
    FROM limited
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    state AS kind,
    count(*) AS count,
    count(expires_at) AS with_limit,
    count(*) FILTER (left_seconds <= 0) AS overdue,
    quantile_disc(age, 0.5) AS p50_seconds,
    max(age) AS max_seconds,
    quantile_disc(left_seconds, 0.5) FILTER (left_seconds > 0) AS p50_left_seconds
FROM timed
GROUP BY ALL
ORDER BY ALL;
