#!/bin/sh
# Makes what a NATS server, a controller and its remotes prove themselves with:
# credentials.sh FOLDER HOST..., the names and addresses under which the server is reached.
# Needs openssl, and nk (go install github.com/nats-io/nkeys/nk@latest).
#
#   ca.pem                 for the controller and every remote (--nats-ca)
#   server.pem server.key  for the server, in /etc/nats
#   nats.env               for the server: the public keys, as variables of its environment
#   controller.nkey        for the controller (--nats-nkey)
#   remote.nkey            for every remote (--nats-nkey)
#   ca.key                 for nobody: keep it to sign the next certificate of the server
set -eu
if [ $# -lt 2 ]; then
    echo "usage: $0 FOLDER HOST..." >&2
    exit 2
fi
needs() {
    ! command -v "$1" >/dev/null || return 0
    echo "$0: there is no $1 in PATH$2" >&2
    exit 2
}
needs openssl ""
needs nk ": go install github.com/nats-io/nkeys/nk@latest"
folder="$1"
shift
umask 077
mkdir -p "$folder"
cd "$folder"
if [ -e ca.pem ]; then
    echo "$0: $folder has credentials already" >&2
    exit 2
fi

names=""
for host in "$@"; do
    case "$host" in
    *:*) kind=IP ;;
    *[!0-9.]*) kind=DNS ;;
    *) kind=IP ;;
    esac
    names="$names${names:+,}$kind:$host"
done
# openssl tells of what it does well, too
quietly() {
    said=$("$@" 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
}
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
# shellcheck disable=SC2086 # words, on purpose
quietly openssl req -x509 $key -keyout ca.key -out ca.new -days 365 -subj "/CN=plumb authority" \
    -addext "keyUsage=critical,keyCertSign,cRLSign"
# the names are in the extension: a common name has no room for a long one
# shellcheck disable=SC2086
quietly openssl req $key -keyout server.key -out server.csr -subj "/CN=plumb nats"
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\nbasicConstraints=critical,CA:FALSE\n' "$names" >server.ext
quietly openssl x509 -req -in server.csr -CA ca.new -CAkey ca.key -CAcreateserial -days 365 \
    -extfile server.ext -out server.pem
rm -f server.csr server.ext ca.srl

for who in controller remote; do
    nk -gen user >"$who.nkey"
done
controller=$(nk -inkey controller.nkey -pubout)
remote=$(nk -inkey remote.nkey -pubout)
printf 'PLUMB_CONTROLLER_NKEY=%s\nPLUMB_REMOTE_NKEY=%s\n' "$controller" "$remote" >nats.env
# the last one: with it the folder is complete
mv ca.new ca.pem
