-- The consumer group whose landers land here from Kafka; no row until the first has come.
CREATE TABLE consumer_group (
    name VARCHAR NOT NULL,
    since TIMESTAMP NOT NULL
);
COMMENT ON TABLE consumer_group IS 'The one Kafka consumer group that lands in this database.';
