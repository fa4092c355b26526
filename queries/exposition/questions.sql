-- How questions stand, by mode, carrier, server and client. Run picked.sql first,
-- with `by` mode and carrier.
--
-- A monitoring system keeps a series for every combination of labels, for ever. So of the servers, and
-- of the clients, the 20 with the most questions keep their names, and the others share `other`; a
-- name that is not known is empty.
CREATE OR REPLACE TEMP VIEW named AS
WITH servers AS (
    SELECT server_name FROM picked GROUP BY server_name ORDER BY count(*) DESC, server_name LIMIT 20
),
clients AS (
    SELECT client_name FROM picked GROUP BY client_name ORDER BY count(*) DESC, client_name LIMIT 20
)
SELECT
    picked.*,
    CASE
        WHEN server_name IS NULL THEN ''
        WHEN server_name IN (FROM servers) THEN server_name
        ELSE 'other'
    END AS server_label,
    CASE
        WHEN client_name IS NULL THEN ''
        WHEN client_name IN (FROM clients) THEN client_name
        ELSE 'other'
    END AS client_label
FROM picked;

SELECT
    mode,
    carrier,
    server_label AS server,
    client_label AS client,
    standing,
    count(*) AS questions,
    count(*) FILTER (put) AS put,
    count(*) FILTER (
        standing = 'completed' OR (standing = 'accepted' AND question_mode IN ('form', 'task_input'))
    ) AS completed
FROM named
GROUP BY ALL
ORDER BY ALL;
