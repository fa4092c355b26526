-- title: What clients declared, and what was asked of them
-- answers: For each set of elicitation modes that clients declared (declared: form, url, form+url, none, or
--   empty where no declaration was seen) and each way of asking (asked: form, url, unknown): how many
--   elicitations there were, over how many sessions, how many asked in a mode that was not declared
--   (undeclared), and how many the client refused as unsupported.
-- pooled: declared, asked by elicitations
--
-- By hand: run picked.sql first; it says how.
WITH by_session AS (
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        declared_modes, coalesce(presentation, question_mode) AS asked, tenant, session_ref_value,
        count(*) AS elicitations,
        count(*) FILTER (standing = 'unsupported') AS unsupported
    FROM picked
    GROUP BY ALL
),
declared AS (
    SELECT
        *,
        if(len(declared_modes) = 0, 'none', array_to_string(list_sort(list_distinct(declared_modes)), '+'))
            AS declared
    FROM by_session
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    declared,
    asked,
    sum(elicitations)::BIGINT AS elicitations,
    count(DISTINCT tenant || hex(session_ref_value)) AS sessions,
    coalesce(sum(elicitations) FILTER (NOT list_contains(declared_modes, asked)), 0)::BIGINT
        AS undeclared,
    sum(unsupported)::BIGINT AS unsupported
FROM declared
GROUP BY mode, carrier, server, client, flow, tool, policy_version, day, declared, asked
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day, elicitations DESC, declared, asked;
