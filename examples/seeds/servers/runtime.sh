#!/bin/sh
# An integration runtime of some nodes that share an amount of memory, with an empty queue. In the PostgreSQL
# at DATABASE there are empty tables for the components of its orders and for changes of tags, and one with
# 100,000 measurements. Ready when it says where it listens.
#   sh servers/runtime.sh DATABASE NODES MEBIBYTES WORKERS SESSIONS
# DATABASE is HOST:PORT; MEBIBYTES, WORKERS and SESSIONS with the database are those of all nodes together.
set -eu
each() { echo $(($1 > nodes ? $1 / nodes : 1)); }
database=$1 nodes=$2
memory=$(each "$3") workers=$(each "$4") sessions=$(each "$5")

. "$(dirname "$0")/temporary.sh"

mkdir "$folder/flows"
for flow in orders event query-template display-template data; do
    cp "flows/$flow.toml" "$folder/flows"
done
cat > "$folder/flows/data-servers.toml" << EOF
[server.plant]
url = "postgres://plumb@$database/postgres?sslmode=disable"
init-command = "SET synchronous_commit = on"
pool = { initial = 1, maximum = $sessions }
EOF
psql -qX -h "${database%:*}" -p "${database##*:}" -U plumb -d postgres -c "
    SET client_min_messages = warning;
    DROP TABLE IF EXISTS component;
    CREATE TABLE component (number bigint, part text, quantity numeric,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp());
    DROP TABLE IF EXISTS event;
    CREATE TABLE event (tag text, value double precision,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE TABLE IF NOT EXISTS measurement AS
        SELECT n % 20 AS tag, timestamptz '2026-01-01' + n * interval '3 s' AS at,
            50 + 40 * sin(n / 700.0) AS value FROM generate_series(1, 100000) AS n;
    CREATE INDEX IF NOT EXISTS measurement_by_tag ON measurement (tag, at);
    ANALYZE measurement"

"$PLUMB" flow serve "$folder/flows" --queue "$folder/queue" --listen 127.0.0.1:0 --quiet \
    --nodes "$nodes" --memory "${memory}MiB" --workers "$workers" &
server=$!
wait "$server"
