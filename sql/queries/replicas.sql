-- name: identity
-- Which cluster this is, whatever copy of it, and whether this copy follows another one.
SELECT system_identifier, pg_is_in_recovery() AS in_recovery FROM pg_control_system();

-- name: written
-- Of a primary: where its log is on disk, and where what is being written ends.
SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint AS durable, (pg_current_wal_insert_lsn() - '0/0')::bigint AS written;

-- name: committed
-- Where the log ends that has this session's last commit in it. One that waited for the disk ($1) is before what is on it.
SELECT (CASE WHEN $1 AND current_setting('synchronous_commit') <> 'off' THEN pg_current_wal_flush_lsn()
             ELSE pg_current_wal_insert_lsn() END - '0/0')::bigint;

-- name: replayed
-- NULL: this server follows nobody.
SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END;
