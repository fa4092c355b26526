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
        mode, carrier, server, client, flow, tool, policy_version, day,
        policy_id, version, coalesce(policy_digest, ''::BLOB) AS digest, decision,
        askings[-1].question_key_id || hex(askings[-1].question) AS question,
        count(*) AS judged,
        min(put_at) AS first_put,
        max(put_at) AS last_put
    FROM picked
    GROUP BY ALL
),
versions AS (
    SELECT coalesce(policy_id, '') AS policy, digest, min(first_put) AS first_used
    FROM judged
    GROUP BY ALL
),
verdicts AS (
    SELECT versions.*, question, arg_max(decision, last_put) AS decision
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
    lower(hex(judged.digest))[:12] AS digest,
    CAST(min(first_put) AS DATE) AS first_day,
    CAST(max(last_put) AS DATE) AS last_day,
    sum(judged)::BIGINT AS judged,
    coalesce(sum(judged) FILTER (judged.decision = 'allow'), 0)::BIGINT AS allow,
    coalesce(sum(judged) FILTER (judged.decision = 'warn'), 0)::BIGINT AS warn,
    coalesce(sum(judged) FILTER (judged.decision = 'block'), 0)::BIGINT AS block,
    coalesce(sum(judged) FILTER (judged.decision = 'not_evaluated'), 0)::BIGINT AS not_evaluated,
    coalesce(sum(judged) FILTER (judged.decision <> earlier.decision), 0)::BIGINT AS changed
FROM judged
LEFT JOIN earlier
    ON earlier.policy = coalesce(judged.policy_id, '') AND earlier.digest = judged.digest
    AND earlier.question = judged.question
GROUP BY ALL
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day, first_day, policy, version, digest;
