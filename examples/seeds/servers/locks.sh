#!/bin/sh
# A lock server at LISTEN. Unless the step is `create`, OWNERS owners hold LOCKS locks each before it
# is ready. Ended by SIGTERM.
#   sh locks.sh LISTEN STEP OWNERS LOCKS
set -eu
listen=$1 step=$2 owners=$3 locks=$4

. "$(dirname "$0")/temporary.sh"
# The server is in the same process group and has been told already: a second signal would cut it
# off.
trap '[ -z "$server" ] || wait "$server" || true; server=; exit 0' TERM INT

: > "$folder/said"
"$PLUMB" lock serve --quiet --listen "$listen" > "$folder/said" &
server=$!
address=
for _ in $(seq 600); do
    address=$(sed -n 's/^listening on //p' "$folder/said")
    [ -z "$address" ] || break
    kill -0 "$server" 2> /dev/null || exit 1 # it has said why
    sleep 0.05
done
[ -n "$address" ] || { echo "the lock server is not ready within 30 s" >&2; exit 1; }
if [ "$step" != create ]; then
    # exit code 1: all locks are there, and the time that it took is not valid, which nobody asks for
    "$PLUMB" lock load create "$address" "$owners" "$locks" --depth 64 --out "$folder/filled" \
        > /dev/null || [ $? -eq 1 ]
fi
echo "listening on $address"
wait "$server"
