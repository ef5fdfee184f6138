#!/bin/sh
# A gateway of 20 work processes that reads its flights from the system at ADDRESS. Ended by SIGTERM.
#   sh gateway.sh ADDRESS
set -eu
. "$(dirname "$0")/temporary.sh"
# The server is in the same process group and has been told already: a second signal would cut it
# off.
trap '[ -z "$server" ] || wait "$server" || true; server=; exit 0' TERM INT

printf '[backend]\nurl = "http://%s"\n' "$1" > "$folder/gateway.toml"
"$PLUMB" app serve "$folder/gateway.toml" --quiet --listen 127.0.0.1:0 --work-processes 20 &
server=$!
wait "$server"
