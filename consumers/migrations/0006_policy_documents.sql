-- What each policy says, as canonical JSON (RFC 8785): its SHA-256 is the digest. NULL where the
-- lander had no copy: a receipt holds the digest alone.
ALTER TABLE policies ADD COLUMN document VARCHAR;
