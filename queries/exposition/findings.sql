-- The findings of the questions that count, by gate, name and severity. Run picked.sql first.
SELECT finding.gate AS gate, finding.name AS name, finding.severity AS severity, count(*) AS findings
FROM (
    SELECT unnest(receipts.findings) AS finding
    FROM receipts
    SEMI JOIN picked USING (elicitation_id)
)
GROUP BY ALL
ORDER BY ALL;
