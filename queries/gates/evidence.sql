-- What a combination has shown, as numbers for the rules. Run combinations.sql first.
SELECT
    count(*) FILTER (put) AS put,
    count(*) FILTER (answered_by = 'person_claimed') AS answered,
    count(*) FILTER (standing IN ('declined', 'cancelled')) AS refused,
    count(*) FILTER (operation_result IS NOT NULL) AS resumed,
    count(*) FILTER (standing = 'completed') AS urls_completed,
    count(*) FILTER (state IN ('abandoned', 'expired', 'unproven', 'withdrawn', 'cancelled'))
        AS interrupted,
    count(*) FILTER (presentation = 'url' AND any_automatic) AS automatic_navigations
FROM combined
WHERE combination = getvariable('combination');
