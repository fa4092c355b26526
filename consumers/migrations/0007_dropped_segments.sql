-- Which segments of streams were dropped because they were old, so that what comes behind them is
-- no gap, and what comes again from Kafka does not land again. What they held their seals say.
CREATE TABLE dropped_segments (
    stream_id UUID NOT NULL,
    first_sequence BIGINT NOT NULL,
    last_sequence BIGINT NOT NULL,
    last_hash BLOB NOT NULL,       -- leaf hash of the last receipt
    dropped_at TIMESTAMP NOT NULL,
    PRIMARY KEY (stream_id, first_sequence)
);
COMMENT ON TABLE dropped_segments IS 'Ranges of streams that retention has dropped.';
