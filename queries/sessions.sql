-- title: How much one session is asked
-- answers: Over how many sessions the questions were spread: sessions, the elicitations in them, and
--   without_session, elicitations whose session is not known, which no other figure here counts.
--   asked_once are sessions with one elicitation; refused those in which a person declined or cancelled at
--   least one, all_refused every one. p50, p90 and max: elicitations a session.
-- quantiles: of sessions
-- withheld: asked_once, all_refused
--
-- By hand: run picked.sql first; it says how.
WITH counted AS (
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        tenant, session_ref_key_id, session_ref_value,
        count(*) AS asked,
        count(*) FILTER (standing IN ('declined', 'cancelled')) AS refused
    FROM picked
    GROUP BY ALL
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    count(session_ref_value) AS sessions,
    coalesce(sum(asked) FILTER (session_ref_value IS NOT NULL), 0)::BIGINT AS elicitations,
    coalesce(sum(asked) FILTER (session_ref_value IS NULL), 0)::BIGINT AS without_session,
    count(session_ref_value) FILTER (asked = 1) AS asked_once,
    count(session_ref_value) FILTER (refused > 0) AS refused,
    count(session_ref_value) FILTER (refused = asked) AS all_refused,
    quantile_disc(asked, 0.5) FILTER (session_ref_value IS NOT NULL) AS p50,
    quantile_disc(asked, 0.9) FILTER (session_ref_value IS NOT NULL) AS p90,
    max(asked) FILTER (session_ref_value IS NOT NULL) AS max
FROM counted
GROUP BY mode, carrier, server, client, flow, tool, policy_version, day
ORDER BY ALL;
