-- title: What the gates found
-- answers: For each finding with its gate and severity (as the policy in force weighed it): in how many
--   elicitations it was found, on how many receipts, and how many receipts had it that belong to no
--   elicitation (stray; these carry no mode and no carrier, and every watcher's count). One elicitation
--   can have many findings. A receipt lists at most 64; further ones are not here.
--
-- By hand: run picked.sql first; it says how.
WITH found AS (
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        elicitation_id,
        unnest(findings) AS one
    FROM picked
    UNION ALL
    SELECT
        split_by('mode', mode), split_by('carrier', carrier), name_by('server', server_name),
        name_by('client', client_name), name_by('flow', flow), name_by('tool', tool),
        name_by('policy_version', policy_version), split_by('day', CAST(occurred_at AS DATE)),
        NULL,
        unnest(findings)
    FROM receipts
    WHERE elicitation_id IS NULL AND len(findings) > 0
        AND (
            vantage IS DISTINCT FROM 'replay' OR getvariable('include_replay')::BOOLEAN
            OR NOT EXISTS (
                FROM receipts WHERE elicitation_id IS NOT NULL AND vantage IS DISTINCT FROM 'replay'
            )
        )
        AND (getvariable('since') IS NULL OR occurred_at >= getvariable('since')::TIMESTAMP)
        AND (getvariable('until') IS NULL OR occurred_at < getvariable('until')::TIMESTAMP)
        AND passes('mode', mode) AND passes('carrier', carrier) AND passes('server', server_name)
        AND passes('client', client_name) AND passes('flow', flow) AND passes('tool', tool)
        AND passes('policy_version', policy_version) AND passes('day', CAST(occurred_at AS DATE))
),
named AS (
    SELECT *, one.gate AS gate, one.name AS finding, one.severity AS severity
    FROM found
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    gate,
    finding,
    severity,
    count(DISTINCT elicitation_id) AS elicitations,
    count(elicitation_id) AS receipts,
    count(*) FILTER (elicitation_id IS NULL) AS stray
FROM named
GROUP BY ALL
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day,
    gate, elicitations DESC, finding, severity;
