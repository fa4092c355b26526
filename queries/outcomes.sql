-- title: Who brought each ending about
-- answers: For every outcome, how many questions ended so (elicitations), and who decided: person (as the
--   client claims), automatic (sooner than a person could), runtime (client, server or time), policy, or
--   unknown; undecided are those still open. The six add up to elicitations, and nothing that was no
--   person's is counted as one. A URL completed without an answer of its own (the client retried) is the
--   runtime's. outcome is the receipts' word: consented is a URL accepted and not yet completed.
--
-- By hand: run picked.sql first; it says how.
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    state AS outcome,
    count(*) AS elicitations,
    count(*) FILTER (who = 'person') AS person,
    count(*) FILTER (who = 'automatic') AS automatic,
    count(*) FILTER (who = 'runtime') AS runtime,
    count(*) FILTER (who = 'policy') AS policy,
    count(*) FILTER (who = 'unknown') AS unknown,
    count(*) FILTER (who = 'nobody') AS undecided
FROM picked
GROUP BY ALL
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day, elicitations DESC, outcome;
