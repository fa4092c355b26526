-- The combinations whose questions were put, the latest first. Run picked.sql first.
--
-- A gate's verdict belongs to one combination and to no other. The view `combined` is `picked` with
-- what makes one; evidence.sql and findings.sql restrict it to that of the variable `combination`.
CREATE OR REPLACE TEMP VIEW combined AS
WITH declared AS (
    SELECT elicitation_id, arg_min(capability_digest_value, sequence) AS capability
    FROM receipts
    WHERE elicitation_id IS NOT NULL
    GROUP BY elicitation_id
)
SELECT picked.*, {
    'server': server_name,
    'server_version': server_version,
    'client': client_name,
    'client_version': client_version,
    'flow': flow,
    'protocol_version': protocol_version,
    'capability': left(lower(hex(capability)), 12),
    'policy': left(lower(hex(policy_digest)), 12),
    'environment': environment
} AS combination
FROM picked
LEFT JOIN declared USING (elicitation_id)
WHERE put OR standing = 'blocked';

SELECT combination, max(put_at) AS last_put_at
FROM combined
GROUP BY combination
ORDER BY last_put_at DESC, combination;
