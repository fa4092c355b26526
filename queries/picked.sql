-- What every question starts from: the elicitations that count, one row each.
--
-- To ask a question by hand, in any DuckDB client: open the database (read-only is
-- enough), set what the figures shall be restricted to or split by, run this file, then
-- the question's file. What is not set is not asked for.
--
--   SET VARIABLE "by" = ['server', 'day'];
--   SET VARIABLE since = TIMESTAMP '2026-11-01';    -- UTC
--   SET VARIABLE server = ['github', 'calendar'];
--   SET VARIABLE include_replay = true;
--
-- A dimension that `by` does not name is NULL in every row: a question groups by all
-- eight, and is split by those asked for.

-- The dimension's value where `by` names it.
CREATE OR REPLACE TEMP MACRO split_by(dimension, value) AS
    CASE WHEN list_contains(getvariable('by')::VARCHAR[], dimension) THEN value END;

-- Whether the filter of that name lets the value pass. A filter never lets NULL pass.
CREATE OR REPLACE TEMP MACRO passes(filter_name, value) AS
    getvariable(filter_name) IS NULL
    OR coalesce(list_contains(getvariable(filter_name)::VARCHAR[], value::VARCHAR), false);

CREATE OR REPLACE TEMP VIEW picked AS
WITH eligible AS (
    -- Replays of recordings count when asked for, or when there is nothing else.
    FROM elicitations
    WHERE vantage IS DISTINCT FROM 'replay'
        OR getvariable('include_replay')::BOOLEAN
        OR NOT EXISTS (
            FROM receipts WHERE elicitation_id IS NOT NULL AND vantage IS DISTINCT FROM 'replay'
        )
),
watched_once AS (
    -- One vantage a session, else two watchers on one wire would count a question twice:
    -- live before replayed, then bytes before parsed.
    FROM eligible
    QUALIFY session_ref_value IS NULL
        OR getvariable('all_vantages')::BOOLEAN
        OR rank() OVER (
            PARTITION BY tenant, session_ref_key_id, session_ref_value
            ORDER BY vantage IS NOT DISTINCT FROM 'replay', fidelity IS DISTINCT FROM 'bytes', vantage
        ) = 1
),
judged AS (
    SELECT
        * EXCLUDE (mode, carrier, flow, tool, policy_version, day),
        mode AS question_mode,
        split_by('mode', mode) AS mode,
        split_by('carrier', carrier) AS carrier,
        split_by('server', server_name) AS server,
        split_by('client', client_name) AS client,
        split_by('flow', flow) AS flow,
        split_by('tool', tool) AS tool,
        split_by('policy_version', policy_version) AS policy_version,
        split_by('day', day) AS day,
        -- The one column each elicitation stands in. An answer counts as a person's only where
        -- a person is claimed; a URL can be completed without an answer (the client retries).
        CASE
            WHEN state = 'consented' THEN 'open'
            WHEN state NOT IN ('accepted', 'completed', 'declined', 'cancelled', 'invalid') THEN state
            WHEN answered_by = 'automatic_suspected' THEN 'automatic'
            WHEN answered_by = 'person_claimed' THEN state
            WHEN state = 'completed' AND answered_by IS NULL THEN state
            ELSE 'unknown'
        END AS standing
    FROM watched_once
    WHERE (getvariable('since') IS NULL OR put_at >= getvariable('since')::TIMESTAMP)
        AND (getvariable('until') IS NULL OR put_at < getvariable('until')::TIMESTAMP)
        AND passes('mode', mode)
        AND passes('carrier', carrier)
        AND passes('server', server_name)
        AND passes('client', client_name)
        AND passes('flow', flow)
        AND passes('tool', tool)
        AND passes('policy_version', policy_version)
        AND passes('day', day)
)
FROM judged;
