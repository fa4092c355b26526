-- The tables: what landed, what could not, where a chain is broken, and how far each source was read.

-- One row a receipt, as its Avro schema names the fields: a nested record stands flat with the
-- group's name in front, a list of records is a list of structs. Enums are text, so that a later
-- schema may know more words. Reading a row back and encoding it again gives the sealed bytes.
--
-- No primary key: landing looks up every place (stream_id, sequence) of a batch before it inserts,
-- and only one process can write. An index would cost a third of the speed and 50 bytes of
-- memory a row to say the same again.
CREATE TABLE receipts (
    -- order
    receipt_id UUID NOT NULL,
    stream_id UUID NOT NULL,
    sequence BIGINT NOT NULL,
    previous_hash BLOB NOT NULL,
    -- what
    event VARCHAR NOT NULL,
    elicitation_id UUID,
    operation_id UUID,
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    carrier VARCHAR,
    mode VARCHAR,
    presentation VARCHAR,
    action VARCHAR,
    outcome VARCHAR,
    decided_by VARCHAR,
    proof VARCHAR,
    required_proof VARCHAR,
    operation_result VARCHAR,
    -- policy
    policy_id VARCHAR,
    policy_version VARCHAR,
    policy_digest BLOB,
    decision VARCHAR,
    findings STRUCT(name VARCHAR, severity VARCHAR, gate VARCHAR)[] NOT NULL,
    findings_more INTEGER NOT NULL,
    -- origin
    server_name VARCHAR,
    server_version VARCHAR,
    client_name VARCHAR,
    client_version VARCHAR,
    identity VARCHAR NOT NULL,
    protocol_version VARCHAR,
    declared_modes VARCHAR[],
    capability_digest_key_id VARCHAR,
    capability_digest_value BLOB,
    operation_method VARCHAR,
    tool VARCHAR,
    flow VARCHAR,
    tenant VARCHAR NOT NULL,
    environment VARCHAR,
    session_ref_key_id VARCHAR,
    session_ref_value BLOB,
    url_origin VARCHAR,
    -- watcher
    vantage VARCHAR,
    fidelity VARCHAR,
    producer_name VARCHAR NOT NULL,
    producer_version VARCHAR NOT NULL,
    -- validation
    validation_requested INTEGER,
    validation_required INTEGER,
    validation_answered INTEGER,
    validation_failed STRUCT(field VARCHAR, keyword VARCHAR)[],
    validation_failed_more INTEGER,
    -- digests
    question_digest_key_id VARCHAR,
    question_digest_value BLOB,
    payload_digest_key_id VARCHAR,
    payload_digest_nonce BLOB,
    payload_digest_value BLOB,
    subject_ref_key_id VARCHAR,
    subject_ref_value BLOB,
    correlation_refs STRUCT(kind VARCHAR, key_id VARCHAR, value BLOB)[] NOT NULL,
    -- time: UTC, without a zone
    occurred_at TIMESTAMP NOT NULL,
    since_previous_us BIGINT,
    clock VARCHAR,
    expires_at TIMESTAMP,
    -- task
    task_status_from VARCHAR,
    task_status_to VARCHAR,
    task_checkpoint BIGINT,
    -- trace
    trace_id BLOB,
    span_id BLOB,
    -- keeping
    retention_class VARCHAR,
    purpose VARCHAR,
    notice VARCHAR,
    -- redaction
    redaction_profile INTEGER NOT NULL,
    redaction_status VARCHAR NOT NULL,
    redaction_dropped INTEGER NOT NULL,
    -- loss and acts
    loss_count BIGINT,
    loss_since TIMESTAMP,
    loss_reason VARCHAR,
    act_actor_ref_key_id VARCHAR,
    act_actor_ref_value BLOB,
    act_target VARCHAR,
    act_count BIGINT,
    act_case_ref_key_id VARCHAR,
    act_case_ref_value BLOB,
    act_key_id_from VARCHAR,
    act_key_id_to VARCHAR,
    act_first_sequence BIGINT,
    act_last_sequence BIGINT,
    act_root BLOB,
    -- landing: not part of the receipt
    leaf_hash BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    source VARCHAR NOT NULL,
    landed_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE receipts IS 'One row a receipt. Times are UTC; stream_id and sequence give the order.';

-- What could not land. The bytes themselves stay where they came from: here stands their digest
-- under the lander's own key, so that the same message is known again and a guess at it proves nothing.
CREATE TABLE rejects (
    source VARCHAR NOT NULL,
    topic VARCHAR,           -- Kafka only
    partition INTEGER NOT NULL,
    kafka_offset BIGINT NOT NULL, -- for a spool: the position in it
    size BIGINT NOT NULL,
    reason VARCHAR NOT NULL,
    digest BLOB,             -- NULL: there were no bytes (a tombstone)
    digest_key_id VARCHAR,
    rejected_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE rejects IS 'One row a message that could not land: where it lies, and why.';

-- Where a stream's chain does not hold. The receipts land all the same.
--   gap          the receipt before `sequence` has not landed: it must have the leaf hash `found`
--   broken_link  the receipt at `sequence` names as the leaf hash before it `found`, not `expected`
CREATE TABLE breaks (
    stream_id UUID NOT NULL,
    sequence BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    expected BLOB,           -- NULL: a gap, nothing is there
    found BLOB NOT NULL,
    detected_at TIMESTAMP NOT NULL,
    healed_at TIMESTAMP      -- a gap: when the receipt before `sequence` landed; else NULL
);
COMMENT ON TABLE breaks IS 'Gaps and broken links in the chains of the streams; healed_at is NULL while it stands.';

-- How far each source was read. It commits with the rows, so it alone says where to go on.
CREATE TABLE positions (
    source VARCHAR NOT NULL,
    partition INTEGER NOT NULL,
    next_offset BIGINT NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (source, partition)
);
COMMENT ON TABLE positions IS 'The next offset to read of each source and partition.';

-- Every policy a watcher said it had loaded.
CREATE TABLE policies (
    policy_digest BLOB PRIMARY KEY,
    policy_id VARCHAR,
    policy_version VARCHAR,
    first_seen TIMESTAMP NOT NULL
);
COMMENT ON TABLE policies IS 'The policies seen, by the digest of their canonical form.';
