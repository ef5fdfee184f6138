#!/bin/sh
# An integration runtime that transforms orders by KIND: xslt, a stylesheet, or rows, a repeat with
# assignments. The most memory that it and the programs it started have had is written into memory.txt of
# FOLDER while it runs. Ready when it says where it listens, ended by SIGTERM.
#   sh servers/transform.sh KIND FOLDER
set -eu
kind=$1 kept=$2

. "$(dirname "$0")/temporary.sh"

mkdir "$folder/flows"
cp "flows/transform-$kind.toml" "$folder/flows/transform.toml"
cp ../flow/xslt/rowsets.xsl "$folder/flows"
cat > "$folder/flows/data-servers.toml" << EOF
[server.log]
url = "$folder/done.db"
init-command = "CREATE TABLE IF NOT EXISTS done (components INTEGER)"
EOF

"$PLUMB" flow serve "$folder/flows" --queue "$folder/queue" --listen 127.0.0.1:0 --quiet &
server=$!
# the kernel's own peak of each process; those of a stylesheet come and go, so their sum is kept at its largest
most=0
while [ -d "/proc/$server" ]; do
    now=0
    children=$(grep -ls "^PPid:[[:space:]]*$server\$" /proc/[0-9]*/status) || true
    for status in "/proc/$server/status" $children; do
        peak=$(awk '/^VmHWM:/ { print $2 }' "$status" 2> /dev/null) || true
        now=$((now + ${peak:-0}))
    done
    [ "$now" -le "$most" ] || most=$now
    echo "Peak: $most kB" > "$kept/memory.new" && mv "$kept/memory.new" "$kept/memory.txt"
    sleep 0.2
done
wait "$server"
