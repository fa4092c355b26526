-- title: What clients declared, and what was asked of them
-- answers: For each set of elicitation modes that clients declared (declared: form, url, form+url, none, or
--   empty where no declaration was seen) and each way of asking (asked: form, url, unknown): how many
--   elicitations there were, over how many sessions, how many asked in a mode that was not declared
--   (undeclared), and how many the client refused as unsupported.
-- pooled: declared, asked by elicitations
--
-- By hand: run picked.sql first; it says how.
WITH declared AS (
    SELECT
        picked.*,
        (
            SELECT arg_max(declared_modes, sequence) FROM receipts
            WHERE receipts.elicitation_id = picked.elicitation_id
        ) AS modes,
        coalesce(presentation, question_mode) AS asked
    FROM picked
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    if(len(modes) = 0, 'none', array_to_string(list_sort(list_distinct(modes)), '+')) AS declared,
    asked,
    count(*) AS elicitations,
    count(DISTINCT tenant || hex(session_ref_value)) AS sessions,
    count(*) FILTER (NOT list_contains(modes, asked)) AS undeclared,
    count(*) FILTER (standing = 'unsupported') AS unsupported
FROM declared
GROUP BY ALL
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day, elicitations DESC, declared, asked;
