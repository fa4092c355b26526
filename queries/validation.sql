-- title: Which fields failed validation
-- answers: In how many answers a field failed a JSON Schema keyword, by field, keyword and round. answers
--   are the accepted forms a person gave in that round (as the client claims), valid or not, of which
--   failures failed there; failure_rate = failures / answers. Failures in answers that came sooner than a
--   person could give them stand under automatic, those nobody can be named for under unknown. field is
--   the property's name or its place in the schema, empty where the object as a whole failed; keyword is
--   empty where the question had no usable schema. Of one answer at most 64 failures are listed.
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
-- By hand: run picked.sql first; it says how.
WITH answers AS (
    -- What came last in each round: an answer that was not delivered may be given again.
    SELECT
        picked.* EXCLUDE (decided_by),
        answer.receipt_id,
        answer.round,
        answer.outcome,
        answer.decided_by,
        answer.validation_failed AS failed
    FROM picked
    JOIN receipts AS answer ON answer.elicitation_id = picked.elicitation_id AND answer.event = 'answered'
    QUALIFY row_number() OVER (
        PARTITION BY answer.elicitation_id, answer.round ORDER BY answer.attempt DESC
    ) = 1
),
judged AS (
    SELECT
        *,
        count(*) FILTER (decided_by = 'person_claimed') OVER (
            PARTITION BY mode, carrier, server, client, flow, tool, policy_version, day, round
        ) AS answers
    FROM answers
    WHERE outcome IN ('accepted', 'invalid')
),
failed AS (
    SELECT * EXCLUDE (failed), unnest(CASE WHEN len(failed) > 0 THEN failed ELSE [NULL] END) AS failure
    FROM judged
    WHERE outcome = 'invalid'
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    failure.keyword AS keyword,
    failure.field AS field,
    round,
    count(DISTINCT receipt_id) FILTER (decided_by = 'person_claimed') AS failures,
    count(DISTINCT receipt_id) FILTER (decided_by = 'automatic_suspected') AS automatic,
    count(DISTINCT receipt_id) FILTER (decided_by = 'unknown') AS unknown,
    any_value(answers) AS answers,
    count(DISTINCT receipt_id) FILTER (decided_by = 'person_claimed')
        / nullif(any_value(answers), 0) AS failure_rate
FROM failed
GROUP BY ALL
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day,
    failures DESC, keyword, field, round;
