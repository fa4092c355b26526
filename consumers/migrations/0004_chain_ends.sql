-- How far each stream's chain has landed. A stream that goes on there, link by link, is fitted in
-- without a look at its receipts: these need no index, however many they are.
CREATE TABLE chain_ends (
    stream_id UUID PRIMARY KEY,
    last_sequence BIGINT NOT NULL, -- the highest that landed
    last_hash BLOB NOT NULL        -- its leaf hash
);
COMMENT ON TABLE chain_ends IS 'The highest sequence of each stream that landed, and its leaf hash.';

INSERT INTO chain_ends
SELECT stream_id, max(sequence), arg_max(leaf_hash, sequence) FROM receipts GROUP BY stream_id;
