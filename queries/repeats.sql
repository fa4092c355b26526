-- title: Which questions were put again
-- answers: How often an equal question (equal by its keyed digest) was put again. asked counts every time a
--   question with a digest was put, each round by itself; of these, in_operation came again within the
--   operation, in_session within the session or connection, in_day on the same day (UTC) to the same
--   subject, where a watcher knew the subject (with_subject says for how many), and after_refusal when
--   the same question had just been declined or cancelled in that session, by whomever. One asking can
--   stand in several. repeats is in_operation or in_session; repeat_rate = repeats / asked.
-- rates: repeat_rate of asked
--
-- By hand: run picked.sql first; it says how.
WITH asking AS (
    SELECT
        picked.mode, picked.carrier, picked.server, picked.client, picked.flow, picked.tool,
        picked.policy_version, picked.day,
        picked.operation_id,
        -- What joins askings: the session, and where none is known the operation.
        coalesce(
            picked.tenant || hex(picked.session_ref_value), CAST(picked.operation_id AS VARCHAR)
        ) AS session,
        CASE WHEN asked.subject_ref_value IS NOT NULL
            THEN asked.subject_ref_key_id || hex(asked.subject_ref_value) END AS subject,
        asked.question_digest_key_id || hex(asked.question_digest_value) AS question,
        asked.occurred_at,
        asked.stream_id,
        asked.sequence,
        max(answer.action) IS NOT NULL AS refused
    FROM picked
    JOIN receipts AS asked
        ON asked.elicitation_id = picked.elicitation_id AND asked.event = 'requested'
    LEFT JOIN receipts AS answer
        ON answer.elicitation_id = asked.elicitation_id AND answer.round = asked.round
        AND answer.event = 'answered' AND answer.action IN ('decline', 'cancel')
    WHERE picked.put AND asked.question_digest_value IS NOT NULL
    GROUP BY ALL
),
compared AS (
    SELECT
        *,
        operation_id IS NOT NULL AND row_number() OVER in_one_operation > 1 AS in_operation,
        session IS NOT NULL AND row_number() OVER in_one_session > 1 AS in_session,
        subject IS NOT NULL AND row_number() OVER on_one_day > 1 AS in_day,
        session IS NOT NULL AND coalesce(lag(refused) OVER in_one_session, false) AS after_refusal
    FROM asking
    WINDOW
        in_one_operation AS (
            PARTITION BY operation_id, question ORDER BY occurred_at, stream_id, sequence
        ),
        in_one_session AS (
            PARTITION BY session, question ORDER BY occurred_at, stream_id, sequence
        ),
        on_one_day AS (
            PARTITION BY subject, question, CAST(occurred_at AS DATE)
            ORDER BY occurred_at, stream_id, sequence
        )
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    count(*) AS asked,
    count(*) FILTER (in_operation) AS in_operation,
    count(*) FILTER (in_session) AS in_session,
    count(*) FILTER (in_day) AS in_day,
    count(subject) AS with_subject,
    count(*) FILTER (after_refusal) AS after_refusal,
    count(*) FILTER (in_operation OR in_session) AS repeats,
    count(*) FILTER (in_operation OR in_session) / nullif(count(*), 0) AS repeat_rate
FROM compared
GROUP BY mode, carrier, server, client, flow, tool, policy_version, day
ORDER BY ALL;
