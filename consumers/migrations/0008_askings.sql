-- Of each elicitation also what was put as what question, what was declared, and what was found:
-- reports on those need not look at receipts either. For the rest of it see 0005.
CREATE OR REPLACE MACRO elicitations_of(receipts_table) AS TABLE
-- The receipts of elicitations: of the windows each is a pass, so they carry what they need and no more.
WITH placed AS (
    SELECT
        elicitation_id, stream_id, sequence, round, event, outcome, action,
        row_number() OVER life AS place,
        sum(coalesce(since_previous_us, 0)) OVER life AS at_us
    FROM query_table(receipts_table)
    WHERE elicitation_id IS NOT NULL
    WINDOW life AS (PARTITION BY elicitation_id ORDER BY stream_id, sequence)
),
timed AS (
    SELECT
        stream_id, sequence, place, at_us,
        min(CASE WHEN event = 'requested' THEN at_us END) OVER one_round AS asked_us,
        max(CASE WHEN event = 'answered' THEN place END) OVER one_round AS answer_place,
        coalesce(bool_or(event = 'answered' AND action IN ('decline', 'cancel')) OVER one_round, false)
            AS refused,
        -- The last answer or completion before this receipt: from there the operation waits on.
        last_value(CASE WHEN event IN ('answered', 'completed') THEN at_us END IGNORE NULLS)
            OVER earlier AS ended_us,
        last_value(CASE WHEN event = 'answered' AND outcome = 'consented' THEN at_us END IGNORE NULLS)
            OVER earlier AS consented_us
    FROM placed
    WINDOW
        one_round AS (PARTITION BY elicitation_id, round),
        earlier AS (
            PARTITION BY elicitation_id ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
),
-- arg_min and arg_max skip the receipts that leave a column empty.
summed AS (
    SELECT
        elicitation_id,
        arg_min(operation_id, place) AS operation_id,
        arg_min(stream_id, place) AS stream_id,
        min(sequence) AS first_sequence,
        max(sequence) AS last_sequence,
        arg_min(tenant, place) AS tenant,
        arg_min(environment, place) AS environment,
        arg_min(flow, place) AS flow,
        arg_min(server_name, place) AS server_name,
        arg_min(server_version, place) AS server_version,
        arg_min(client_name, place) AS client_name,
        arg_min(client_version, place) AS client_version,
        arg_min(protocol_version, place) AS protocol_version,
        arg_min(operation_method, place) AS operation_method,
        arg_min(tool, place) AS tool,
        arg_min({'key_id': session_ref_key_id, 'value': session_ref_value}, place)
            FILTER (WHERE session_ref_value IS NOT NULL) AS session_ref,
        arg_min(vantage, place) AS vantage,
        arg_min(fidelity, place) AS fidelity,
        -- A question put as a request may be answered with a task, and is a task's from then on.
        arg_max(carrier, place) AS carrier,
        arg_max(mode, place) AS mode,
        arg_max(presentation, place) AS presentation,
        arg_max(url_origin, place) AS url_origin,
        -- The policy that looked at the last question put.
        arg_max({
            'id': policy_id, 'version': policy_version, 'digest': policy_digest, 'decision': decision
        }, place) FILTER (WHERE event = 'requested') AS policy,
        arg_max({'outcome': outcome, 'decided_by': decided_by}, place)
            FILTER (WHERE outcome IS NOT NULL) AS last_state,
        arg_max(decided_by, place) FILTER (WHERE event = 'answered') AS answered_by,
        coalesce(
            bool_or(decided_by = 'automatic_suspected') FILTER (WHERE event = 'answered'), false
        ) AS any_automatic,
        arg_max(proof, place) AS proof,
        arg_max(required_proof, place) AS required_proof,
        arg_max(operation_result, place) AS operation_result,
        max(round) AS rounds,
        max(round) FILTER (WHERE event = 'answered') AS last_answered_round,
        count(*) FILTER (WHERE event = 'answered') AS attempts,
        count(question_digest_value) > 0 AS has_question,
        coalesce(min(occurred_at) FILTER (WHERE event = 'requested'), min(occurred_at)) AS put_at,
        arg_max(occurred_at, place) AS changed_at,
        -- The running sum is a clock only if it starts with the first question and never stops.
        bool_and(CASE
            WHEN place = 1 THEN event = 'requested' AND since_previous_us IS NULL
            ELSE since_previous_us IS NOT NULL
        END) AS starts_and_runs,
        bool_or(since_previous_us IS NOT NULL AND clock = 'wall') AS wall_clock,
        sum(at_us - asked_us) FILTER (WHERE place = answer_place) AS human_wait_us,
        sum(at_us - coalesce(ended_us, 0))
            FILTER (WHERE event = 'requested' AND place > 1 AND answer_place IS NOT NULL)
            AS between_rounds_us,
        sum(at_us - consented_us) FILTER (WHERE event = 'completed') AS ceremony_us,
        min(at_us - ended_us) FILTER (WHERE event = 'resumed') AS resume_us,
        min(at_us) FILTER (WHERE event = 'resumed') AS resumed_us,
        -- The accepted forms, right or not: of each round the answer that stands.
        list({
            'round': round, 'outcome': outcome, 'decided_by': decided_by, 'failed': validation_failed
        } ORDER BY place) FILTER (WHERE place = answer_place AND outcome IN ('accepted', 'invalid'))
            AS answers,
        arg_max(declared_modes, place) AS declared_modes,
        max(occurred_at) FILTER (WHERE event IN ('abandoned', 'expired')) AS left_at,
        list({
            'stream_id': stream_id, 'sequence': sequence, 'occurred_at': occurred_at,
            'question_key_id': question_digest_key_id, 'question': question_digest_value,
            'subject_key_id': subject_ref_key_id, 'subject': subject_ref_value, 'refused': refused
        } ORDER BY place) FILTER (WHERE event = 'requested' AND question_digest_value IS NOT NULL)
            AS askings,
        flatten(list(findings ORDER BY place) FILTER (WHERE len(findings) > 0)) AS findings,
        min(landed_at) AS first_landed_at
    FROM query_table(receipts_table) JOIN timed USING (stream_id, sequence)
    GROUP BY elicitation_id
),
-- A receipt missing between the first and the last may be one of this elicitation: then the clock
-- lost time nobody can tell, and no interval is better than a wrong one.
judged AS (
    SELECT *, starts_and_runs AND NOT EXISTS (
        SELECT 1 FROM breaks
        WHERE breaks.kind = 'gap' AND breaks.healed_at IS NULL
            AND breaks.stream_id = summed.stream_id
            AND breaks.sequence > summed.first_sequence
            AND breaks.sequence <= summed.last_sequence
    ) AS measured
    FROM summed
)
SELECT
    elicitation_id,
    operation_id,
    stream_id,
    first_sequence,
    last_sequence,
    tenant,
    environment,
    flow,
    server_name,
    server_version,
    client_name,
    client_version,
    protocol_version,
    operation_method,
    tool,
    session_ref['key_id'] AS session_ref_key_id,
    session_ref['value'] AS session_ref_value,
    vantage,
    fidelity,
    carrier,
    mode,
    presentation,
    url_origin,
    policy['id'] AS policy_id,
    policy['version'] AS policy_version,
    policy['digest'] AS policy_digest,
    policy['decision'] AS decision,
    put_at,
    CAST(put_at AS DATE) AS day,
    changed_at,
    last_state['outcome'] AS state,
    -- Who brought the state about; a question put anew is nobody's decision yet.
    last_state['decided_by'] AS decided_by,
    -- Who gave the last answer: a completion that follows does not hide an automatic consent.
    answered_by,
    any_automatic,
    -- Somebody was asked: neither stopped by policy, nor the mode that error -32021 names, where the
    -- server asked for a capability and no question was ever worded.
    state IS DISTINCT FROM 'blocked' AND NOT (
        state IS NOT DISTINCT FROM 'unsupported' AND carrier = 'multi_round_trip'
        AND NOT has_question
    ) AS put,
    coalesce(state IN ('abandoned', 'expired'), false)
        AND last_answered_round IS DISTINCT FROM rounds AS unanswered,
    rounds,
    attempts,
    proof,
    required_proof,
    operation_result,
    -- Microseconds. NULL where there was no such interval, or where it cannot be told.
    CASE WHEN measured THEN TRY_CAST(human_wait_us AS BIGINT) END AS human_wait_us,
    CASE WHEN measured THEN TRY_CAST(between_rounds_us AS BIGINT) END AS between_rounds_us,
    CASE WHEN measured THEN TRY_CAST(ceremony_us AS BIGINT) END AS ceremony_us,
    CASE WHEN measured THEN TRY_CAST(resume_us AS BIGINT) END AS resume_us,
    CASE WHEN measured AND attempts > 0 THEN TRY_CAST(resumed_us AS BIGINT) END AS time_to_resume_us,
    wall_clock,
    answers,
    declared_modes,
    left_at,
    askings,
    findings,
    -- Where to look for its receipts: none landed before.
    first_landed_at
FROM judged;

DROP VIEW elicitations;
DROP TABLE elicitation_summaries;
CREATE TABLE elicitation_summaries AS FROM elicitations_derived;

CREATE VIEW elicitations AS SELECT * EXCLUDE first_landed_at FROM elicitation_summaries;
COMMENT ON VIEW elicitations IS
    'One row an elicitation: where it stands, who decided, and how long each part took.';
