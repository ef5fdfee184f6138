#!/bin/sh
# A way to the back end at ADDRESS. Ready when it says where it listens, ended by SIGTERM.
#   sh servers/connector.sh KIND ADDRESS
# KIND: caller (nothing between: callers keep their own connections), runtime (an integration runtime keeps
# them), none (it makes a connection for each call), journal (it keeps them, and before it answers writes
# 64 KiB for each call into a file in TMPDIR, and flushes it).
set -eu
kind=$1 back_end=$2
keep=sessions transaction=confirm
case $kind in
    caller)
        sleep infinity &
        trap 'kill $! 2> /dev/null || true; exit 0' TERM INT
        echo "listening on $back_end"
        wait
        ;;
    runtime) ;;
    none) keep=nothing ;;
    journal) transaction=confirm-journal ;;
    *) echo "servers/connector.sh caller, runtime, none or journal, not $kind" >&2; exit 2 ;;
esac

. "$(dirname "$0")/temporary.sh"

mkdir "$folder/flows"
cp "flows/$transaction.toml" "$folder/flows/confirm.toml"
(umask 077 && echo demo > "$folder/flows/back-end.password")
cat > "$folder/flows/back-ends.toml" << EOF
[back-end.erp]
url = "http://$back_end"
user = "demo"
password-file = "back-end.password"
keep = "$keep"
EOF
if [ "$kind" = journal ]; then
    cat > "$folder/flows/data-servers.toml" << EOF
[server.journal]
url = "$folder/journal.db"
init-command = "CREATE TABLE IF NOT EXISTS journal (answer TEXT, trace BLOB)"
pool = { initial = 1, maximum = 16 }
EOF
fi

"$PLUMB" flow serve "$folder/flows" --queue "$folder/queue" --listen 127.0.0.1:0 --quiet &
server=$!
wait "$server"
