//! The tables of a queue in `PostgreSQL`, beside those of the data.

/// The version of the tables.
pub(super) const VERSION: i64 = 1;

/// Waiting ones, given out or not; what is kept of done ones; dead ones.
pub(super) const WAITING: i64 = 0;
pub(super) const DONE: i64 = 1;
pub(super) const DEAD: i64 = 2;

/// When a message is due that was dead and is done again: at once, as one that was never tried (0),
/// but behind those of its order key that are under way.
pub(super) const DUE_AGAIN: i64 = 1;

/// Makes the tables that are not there. One runtime at a time: the number names the queue.
pub(super) const TABLES: &str = "
    BEGIN;
    SELECT pg_advisory_xact_lock(5783510276);
    CREATE TABLE IF NOT EXISTS plumb_queue_number (name text PRIMARY KEY, value bigint NOT NULL);
    INSERT INTO plumb_queue_number VALUES ('version', 1), ('id', 0), ('runtime', 0)
        ON CONFLICT DO NOTHING;
    CREATE TABLE IF NOT EXISTS plumb_queue_transaction (name text PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS plumb_queue_message (
        id bigint PRIMARY KEY, transaction text NOT NULL, state bigint NOT NULL,
        due_ms bigint NOT NULL, leased_until_ms bigint NOT NULL, runtime bigint NOT NULL,
        failures bigint NOT NULL, error text, at_ms bigint, expires_ms bigint,
        noted bigint NOT NULL, trace text, order_key text, idempotency_key text,
        media_type text NOT NULL, parameters bytea NOT NULL, body bytea NOT NULL);
    CREATE INDEX IF NOT EXISTS plumb_queue_waiting
        ON plumb_queue_message (transaction, id) WHERE state = 0;
    CREATE INDEX IF NOT EXISTS plumb_queue_order
        ON plumb_queue_message (transaction, order_key, id)
        WHERE state = 0 AND order_key IS NOT NULL;
    CREATE INDEX IF NOT EXISTS plumb_queue_expires
        ON plumb_queue_message (expires_ms) WHERE expires_ms IS NOT NULL;
    CREATE INDEX IF NOT EXISTS plumb_queue_dead
        ON plumb_queue_message (id) WHERE state = 2 AND noted = 0;
    CREATE TABLE IF NOT EXISTS plumb_queue_key (
        transaction text NOT NULL, key text NOT NULL, id bigint NOT NULL, at_ms bigint NOT NULL,
        PRIMARY KEY (transaction, key));
    CREATE INDEX IF NOT EXISTS plumb_queue_key_at ON plumb_queue_key (at_ms);
    CREATE TABLE IF NOT EXISTS plumb_queue_runtime (
        number bigint PRIMARY KEY, host text NOT NULL, process bigint NOT NULL,
        began_ms bigint NOT NULL, seen_ms bigint NOT NULL);
    COMMIT;";
