-- parameter: by dimensions Split the figures by these: mode, carrier, server, client, flow, tool,
--   policy_version, day (UTC). Repeat it or separate them with commas.
-- parameter: since time Only questions first put at this time or later: an ISO 8601 date or time (UTC
--   where it names no zone), or how long ago (90min, 24h, 7d, 2w).
-- parameter: until time Only questions first put before this time.
-- parameter: mode modes Only this mode: form, url, task_input, unknown. Repeatable, as all filters are.
-- parameter: carrier carriers Only this carrier: server_request, url_required_error, multi_round_trip,
--   task.
-- parameter: server names Only servers that give themselves this name.
-- parameter: client names Only clients that give themselves this name.
-- parameter: flow names Only this flow, as policy or a setting names it.
-- parameter: tool names Only this tool or prompt.
-- parameter: policy_version names Only questions judged under this version of the policy.
-- parameter: day days Only questions first put on this day (UTC, YYYY-MM-DD).
-- parameter: include_replay flag Count replayed recordings too. Without it they count only in a database
--   that holds nothing else.
-- parameter: all_vantages flag Count what every watcher saw, also where two watched one session.
--
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

-- One variable more is set by programs alone: `kept`, the names that stand for themselves where
-- there are too many to list (as 'tool=deploy'; the others are '(other)').

-- The dimension's value where `by` names it.
CREATE OR REPLACE TEMP MACRO split_by(dimension, value) AS
    CASE WHEN list_contains(getvariable('by')::VARCHAR[], dimension) THEN value END;

-- The same for a name, of which there may be too many.
CREATE OR REPLACE TEMP MACRO name_by(dimension, name) AS
    CASE
        WHEN NOT coalesce(list_contains(getvariable('by')::VARCHAR[], dimension), false) THEN NULL
        WHEN getvariable('kept') IS NULL OR name IS NULL
            OR list_contains(getvariable('kept')::VARCHAR[], dimension || '=' || name) THEN name
        ELSE '(other)'
    END;

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
            FROM elicitations WHERE vantage IS DISTINCT FROM 'replay'
        )
),
watched_twice AS (
    SELECT tenant, session_ref_key_id, session_ref_value
    FROM eligible
    WHERE session_ref_value IS NOT NULL
    GROUP BY ALL
    HAVING min(vantage) <> max(vantage) OR min(fidelity) <> max(fidelity)
        OR count(vantage) NOT IN (0, count(*)) OR count(fidelity) NOT IN (0, count(*))
),
passed_over AS (
    -- One vantage a session, else two watchers on one wire would count a question twice:
    -- live before replayed, then bytes before parsed.
    SELECT elicitation_id
    FROM eligible SEMI JOIN watched_twice USING (tenant, session_ref_key_id, session_ref_value)
    QUALIFY rank() OVER (
        PARTITION BY tenant, session_ref_key_id, session_ref_value
        ORDER BY vantage IS NOT DISTINCT FROM 'replay', fidelity IS DISTINCT FROM 'bytes', vantage
    ) > 1
),
watched_once AS (
    FROM eligible
    WHERE coalesce(getvariable('all_vantages')::BOOLEAN, false)
        OR elicitation_id NOT IN (FROM passed_over)
),
judged AS (
    SELECT
        * EXCLUDE (mode, carrier, flow, tool, policy_version, day),
        mode AS question_mode,
        policy_version AS version,
        split_by('mode', mode) AS mode,
        split_by('carrier', carrier) AS carrier,
        name_by('server', server_name) AS server,
        name_by('client', client_name) AS client,
        name_by('flow', flow) AS flow,
        name_by('tool', tool) AS tool,
        name_by('policy_version', policy_version) AS policy_version,
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
),
-- Who the ending is to be put down to; nobody's yet while the question is open.
attributed AS (
    SELECT *, CASE
        WHEN standing = 'open' THEN 'nobody'
        WHEN standing IN ('automatic', 'unknown') THEN standing
        WHEN standing IN ('accepted', 'declined', 'cancelled', 'invalid') THEN 'person'
        WHEN standing = 'completed' THEN if(answered_by = 'person_claimed', 'person', 'runtime')
        WHEN decided_by IN ('runtime', 'policy') THEN decided_by
        ELSE 'unknown'
    END AS who
    FROM judged
),
-- The cell of an elicitation: within its group, all that ended alike. What suppression protects is
-- how many stand in one (see suppress.py).
celled AS (
    SELECT *, concat_ws(' ', state, who, put, question_mode = 'unknown') AS cell
    FROM attributed
)
FROM celled;
