-- title: What each policy decided
-- answers: For each policy and version that judged a question, and the beginning of its digest: when the
--   first and the last of its questions were put (first_day, last_day), how many it judged, and what it
--   decided of the last round of each: allow, warn, block, or not_evaluated. changed: how many of its
--   questions an earlier version of the same policy had judged too and decided otherwise; it is compared
--   with the newest such version, question by question.
-- pooled: policy, version, digest by judged
--
-- By hand: run picked.sql first; it says how.
WITH judged AS (
    SELECT
        picked.*,
        coalesce(lower(hex(policy_digest))[:12], '') AS digest,
        (
            SELECT arg_max(question_digest_key_id || hex(question_digest_value), sequence)
            FROM receipts
            WHERE receipts.elicitation_id = picked.elicitation_id AND event = 'requested'
        ) AS question
    FROM picked
),
versions AS (
    SELECT coalesce(policy_id, '') AS policy, digest, min(put_at) AS first_used
    FROM judged
    GROUP BY ALL
),
verdicts AS (
    SELECT versions.*, question, arg_max(decision, put_at) AS decision
    FROM judged
    JOIN versions ON versions.policy = coalesce(policy_id, '') AND versions.digest = judged.digest
    WHERE question IS NOT NULL
    GROUP BY ALL
),
-- Of each version and question: what the newest of the earlier versions had decided.
earlier AS (
    SELECT later.policy, later.digest, later.question, arg_max(past.decision, past.first_used) AS decision
    FROM verdicts AS later
    JOIN verdicts AS past
        ON past.policy = later.policy AND past.question = later.question
        AND past.first_used < later.first_used
    GROUP BY ALL
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    policy_id AS policy,
    version,
    judged.digest,
    CAST(min(put_at) AS DATE) AS first_day,
    CAST(max(put_at) AS DATE) AS last_day,
    count(*) AS judged,
    count(*) FILTER (judged.decision = 'allow') AS allow,
    count(*) FILTER (judged.decision = 'warn') AS warn,
    count(*) FILTER (judged.decision = 'block') AS block,
    count(*) FILTER (judged.decision = 'not_evaluated') AS not_evaluated,
    count(*) FILTER (judged.decision <> earlier.decision) AS changed
FROM judged
LEFT JOIN earlier
    ON earlier.policy = coalesce(judged.policy_id, '') AND earlier.digest = judged.digest
    AND earlier.question = judged.question
GROUP BY ALL
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day, first_day, policy, version, digest;
