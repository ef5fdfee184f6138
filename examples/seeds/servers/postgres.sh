#!/bin/sh
# A PostgreSQL server on a free port of loopback, in a folder that goes with it. It trusts whoever
# connects, as the user plumb. It does not flush what it commits, unless it is to be durable. Ready when it
# says where it listens, ended by SIGTERM.
#   sh servers/postgres.sh [durable]
set -eu
case ${1-} in
    '') flush=-F ;;
    durable) flush= ;;
    *) echo "servers/postgres.sh [durable], not $1" >&2; exit 2 ;;
esac

found=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
PATH="${found:+$found:}$PATH"
if ! command -v initdb > /dev/null || ! command -v postgres > /dev/null; then
    echo "no initdb and postgres: install PostgreSQL, or put its programs into PATH" >&2
    exit 1
fi

folder=$(mktemp -d)
server=
tidy() {
    trap '' TERM INT
    [ -z "$server" ] || { kill -INT "$server" 2> /dev/null && wait "$server"; } || true
    rm -rf "$folder"
}
trap tidy EXIT
trap 'exit 0' TERM INT

# The server refuses to run as root.
as=
if [ "$(id -u)" = 0 ]; then
    chown nobody "$folder"
    as="setpriv --reuid=nobody --regid=$(id -g nobody) --clear-groups"
fi
cd "$folder"
$as initdb -D "$folder/data" -U plumb -A trust --locale=C --no-sync > /dev/null

for port in $(shuf -i 20000-30000 -n 5); do
    $as postgres -D "$folder/data" -p "$port" $flush -c listen_addresses=127.0.0.1 \
        -c unix_socket_directories= > "$folder/log" 2>&1 &
    server=$!
    for _ in $(seq 100); do
        kill -0 "$server" 2> /dev/null || break # the port is taken
        if grep -q 'ready to accept connections' "$folder/log"; then
            echo "listening on 127.0.0.1:$port"
            wait "$server"
            exit
        fi
        sleep 0.1
    done
    kill -INT "$server" 2> /dev/null || true
    wait "$server" || true
    server=
done
cat "$folder/log" >&2
exit 1
