-- title: Which fields failed validation
-- answers: In how many answers a field failed a JSON Schema keyword, by field, keyword and round. answers
--   are the accepted forms a person gave in that round (as the client claims), valid or not, of which
--   failures failed there; failure_rate = failures / answers. Failures in answers that came sooner than a
--   person could give them stand under automatic, those nobody can be named for under unknown. field is
--   the property's name or its place in the schema, empty where the object as a whole failed; keyword is
--   empty where the question had no usable schema. Of one answer at most 64 failures are listed.
-- pooled: keyword, field, round by failures
--
-- By hand: run picked.sql first; it says how.
WITH answers AS (
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        answer.round,
        answer.outcome,
        answer.decided_by,
        answer.failed,
        -- Compared as one value, in which NULL equals NULL.
        row(mode, carrier, server, client, flow, tool, policy_version, day, answer.round) AS place
    FROM (SELECT *, unnest(answers) AS answer FROM picked)
),
given AS (
    SELECT place, count(*) FILTER (decided_by = 'person_claimed') AS answers
    FROM answers
    GROUP BY place
),
failures AS (
    -- Each failure of an answer once; one without any where there was no schema to name them.
    SELECT
        * EXCLUDE (failed),
        unnest(CASE WHEN len(failed) > 0 THEN list_distinct(failed) ELSE [NULL] END) AS failure
    FROM answers
    WHERE outcome = 'invalid'
)
SELECT
    mode, carrier, server, client, flow, tool, policy_version, day,
    failure.keyword AS keyword,
    failure.field AS field,
    round,
    count(*) FILTER (decided_by = 'person_claimed') AS failures,
    count(*) FILTER (decided_by = 'automatic_suspected') AS automatic,
    count(*) FILTER (decided_by = 'unknown') AS unknown,
    any_value(answers) AS answers,
    count(*) FILTER (decided_by = 'person_claimed') / nullif(any_value(answers), 0) AS failure_rate
FROM failures
JOIN given USING (place)
GROUP BY ALL
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day,
    failures DESC, keyword, field, round;
