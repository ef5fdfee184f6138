# A folder that is there as long as the script that reads this, and a server, by its process id, that ends
# with it.
folder=$(mktemp -d)
server=
tidy() {
    trap '' TERM INT
    [ -z "$server" ] || { kill -TERM "$server" 2> /dev/null && wait "$server"; } || true
    rm -rf "$folder"
}
trap tidy EXIT
trap 'exit 0' TERM INT
