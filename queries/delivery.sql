-- title: What arrived, and what did not
-- answers: For each stream (a watcher's spool and tenant): emitted, the receipts written as far as the newest
--   that landed shows; landed, and how many of these through Kafka (shipped); missing = emitted - landed;
--   lost, receipts the watcher could not write and accounted for, beside losses of unknown count
--   (lost_unknown); gaps and broken_links in its chain that still stand; p50_seconds and max_seconds, the
--   lag from event to landing. The row without a stream counts messages that were no receipt (rejected).
--   What waits unshipped in a spool shows in `receipts status`. These are counts of messages, not people.
-- quantiles: of landed
-- withheld: emitted, landed, shipped
-- takes: none
-- parameter: since time Only receipts of this time or later.
-- parameter: until time Only receipts before this time.
-- parameter: include_replay flag Show the streams of replayed recordings too.
--
-- Needs nothing run first.
WITH counted AS (
    SELECT *, greatest(epoch_us(landed_at) - epoch_us(occurred_at), 0) / 1e6 AS lag_seconds
    FROM receipts
    WHERE (getvariable('since') IS NULL OR occurred_at >= getvariable('since')::TIMESTAMP)
        AND (getvariable('until') IS NULL OR occurred_at < getvariable('until')::TIMESTAMP)
),
streams AS (
    SELECT
        stream_id,
        any_value(tenant) AS tenant,
        max(sequence) - min(sequence) + 1 AS emitted,
        count(*) AS landed,
        count(*) FILTER (source <> 'spool') AS shipped,
        coalesce(sum(loss_count), 0)::BIGINT AS lost,
        count(*) FILTER (event = 'lost' AND loss_count IS NULL) AS lost_unknown,
        quantile_disc(lag_seconds, 0.5) AS p50_seconds,
        max(lag_seconds) AS max_seconds
    FROM counted
    GROUP BY stream_id
    -- As elicitations do, replayed recordings count when asked for, or when there is nothing else.
    HAVING getvariable('include_replay')::BOOLEAN
        OR NOT coalesce(bool_or(vantage = 'replay'), false)
        OR NOT EXISTS (
            FROM receipts WHERE elicitation_id IS NOT NULL AND vantage IS DISTINCT FROM 'replay'
        )
)
SELECT
    tenant,
    CAST(streams.stream_id AS VARCHAR) AS stream,
    emitted,
    landed,
    shipped,
    emitted - landed AS missing,
    lost,
    lost_unknown,
    (
        SELECT count(*) FROM breaks
        WHERE breaks.stream_id = streams.stream_id AND kind = 'gap' AND healed_at IS NULL
    ) AS gaps,
    (
        SELECT count(*) FROM breaks
        WHERE breaks.stream_id = streams.stream_id AND kind = 'broken_link' AND healed_at IS NULL
    ) AS broken_links,
    0::BIGINT AS rejected,
    p50_seconds,
    max_seconds
FROM streams
UNION ALL
SELECT NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, count(*), NULL, NULL
FROM rejects
WHERE (getvariable('since') IS NULL OR rejected_at >= getvariable('since')::TIMESTAMP)
    AND (getvariable('until') IS NULL OR rejected_at < getvariable('until')::TIMESTAMP)
HAVING count(*) > 0
ORDER BY tenant, stream;
