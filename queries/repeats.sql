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
WITH put_as AS (
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        tenant, session_ref_value, operation_id,
        unnest(askings, recursive := true)
    FROM picked
    WHERE put
),
asking AS (
    SELECT
        * EXCLUDE (tenant, session_ref_value),
        -- What joins askings: the session, and where none is known the operation.
        coalesce(tenant::BLOB || session_ref_value, operation_id::VARCHAR::BLOB) AS session
    FROM put_as
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
            PARTITION BY operation_id, question_key_id, question
            ORDER BY occurred_at, stream_id, sequence
        ),
        in_one_session AS (
            PARTITION BY session, question_key_id, question
            ORDER BY occurred_at, stream_id, sequence
        ),
        on_one_day AS (
            PARTITION BY subject_key_id, subject, question_key_id, question, occurred_at::DATE
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
