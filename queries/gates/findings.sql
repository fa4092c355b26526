-- The findings of a combination, with some of the receipts that show each. Run combinations.sql first.
SELECT
    finding.gate AS gate,
    finding.name AS name,
    finding.severity AS severity,
    count(*) AS count,
    list(receipt_id::VARCHAR ORDER BY occurred_at, sequence)[:5] AS receipts
FROM (
    SELECT receipts.receipt_id, receipts.occurred_at, receipts.sequence, unnest(receipts.findings) AS finding
    FROM receipts
    JOIN combined USING (elicitation_id)
    WHERE combination = getvariable('combination')
)
GROUP BY ALL
ORDER BY ALL;
