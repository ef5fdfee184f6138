#!/bin/sh
# An application server at LISTEN with its sessions at the database URL, or with a database of its own
# where URL is `-`; each changing step takes its locks at LOCKS. Says its address without `smc:`, for
# which a URL has no place. Ended by SIGTERM to its process group.
#   sh sales.sh LISTEN LOCKS URL
set -eu
listen=$1 locks=$2 url=$3
[ "$url" != - ] && set -- --database "$url" || set --
"$PLUMB" app serve /dev/stdin --quiet --listen "$listen" --work-processes 5 "$@" << EOF |
[locks]
server = "$locks"
EOF
    while read -r listening on address; do
        echo "$listening $on ${address#smc:}"
    done
