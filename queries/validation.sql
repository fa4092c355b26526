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
    -- How many answers of each round came out alike.
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        answer.round, answer.outcome, answer.decided_by, answer.failed,
        count(*) AS alike
    FROM (SELECT *, unnest(answers) AS answer FROM picked)
    GROUP BY ALL
),
placed AS (
    -- Compared as one value, in which NULL equals NULL.
    SELECT *, row(mode, carrier, server, client, flow, tool, policy_version, day, round) AS place
    FROM answers
),
given AS (
    SELECT place, sum(alike) FILTER (decided_by = 'person_claimed') AS answers
    FROM placed
    GROUP BY place
),
failures AS (
    -- Each failure of an answer once; one without any where there was no schema to name them.
    SELECT
        * EXCLUDE (failed),
        unnest(CASE WHEN len(failed) > 0 THEN list_distinct(failed) ELSE [NULL] END) AS failure
    FROM placed
    WHERE outcome = 'invalid'
),
counted AS (
    SELECT
        mode, carrier, server, client, flow, tool, policy_version, day,
        failure.keyword AS keyword,
        failure.field AS field,
        round,
        coalesce(sum(alike) FILTER (decided_by = 'person_claimed'), 0)::BIGINT AS failures,
        coalesce(sum(alike) FILTER (decided_by = 'automatic_suspected'), 0)::BIGINT AS automatic,
        coalesce(sum(alike) FILTER (decided_by = 'unknown'), 0)::BIGINT AS unknown,
        coalesce(any_value(answers), 0)::BIGINT AS answers
    FROM failures JOIN given USING (place)
    GROUP BY ALL
)
SELECT *, failures / nullif(answers, 0) AS failure_rate
FROM counted
ORDER BY mode, carrier, server, client, flow, tool, policy_version, day,
    failures DESC, keyword, field, round;
