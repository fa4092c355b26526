-- What has landed and what has not.
SELECT
    (SELECT count(*) FROM receipts) AS landed,
    (SELECT epoch(max(landed_at)) FROM receipts) AS last_landed,
    (SELECT coalesce(sum(loss_count), 0)::BIGINT FROM receipts WHERE event = 'lost') AS lost,
    (SELECT count(*) FROM breaks WHERE healed_at IS NULL) AS breaks,
    (SELECT count(*) FROM rejects) AS rejects;
