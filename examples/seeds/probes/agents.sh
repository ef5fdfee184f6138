#!/bin/sh
# Agents send 20,000 changes of tags to the integration runtime at RUNTIME, in messages of BUNDLE changes; once
# they are rows of the PostgreSQL at DATABASE, prints how many became rows each second, by the time stamps of
# the table from the first row to the last.
#   sh probes/agents.sh RUNTIME DATABASE AGENTS BUNDLE [CHANGES]
set -eu
runtime=$1 database=$2 agents=$3 bundle=$4 changes=${5-20000}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
asked() { psql -qXAt -h "${database%:*}" -p "${database##*:}" -U plumb -d postgres -c "$1"; }

cat > "$folder/agent.toml" << EOF
name = "press"
copies = $agents
[source.sim]
changes = $((changes / agents))
[[source.sim.tag]]
name = "temperature"
count = 20
shape = "random-walk"
low = 20
high = 90
step = 0.5
[bundle]
count = $bundle
[target]
url = "http://$runtime/runner/event?mode=async"
window = 16
EOF
"$PLUMB" flow agent "$folder/agent.toml" --spool "$folder/spool" --until-empty --quiet >&2

for _ in $(seq 600); do
    [ "$(asked 'SELECT count(*) FROM event')" -lt $((changes / agents * agents)) ] || break
    sleep 0.1
done
asked "SELECT CASE WHEN count(*) = $((changes / agents * agents)) THEN
    count(*) / extract(epoch FROM max(created_at) - min(created_at)) END FROM event"
