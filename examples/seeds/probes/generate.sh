#!/bin/sh
# Compiles every program ROUNDS times over five work processes, each with a session at the database URL;
# prints how many programs a second.
#   sh probes/generate.sh URL ROUNDS
set -eu
said=$("$PLUMB" app generate --work-processes 5 --rounds "$2" --database "$1")
echo "$said" >&2
echo "$said" | sed -n 's/^elapsed .* \([0-9]*\) programs\/s$/\1/p'
