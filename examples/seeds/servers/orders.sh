#!/bin/sh
# Sends a production order as IDoc of 2 KB to the queue of the integration runtime at RUNTIME every 5 s, until
# it is ended by SIGTERM; then counts in the PostgreSQL at DATABASE what became of them. The record of that is
# the folder `orders` in FOLDER.
#   sh servers/orders.sh RUNTIME DATABASE FOLDER
set -eu
echo "sending to $1"
exec "$PLUMB" flow load "http://$1" --transaction orders --rate 0.2/s --warmup 0s --for 24h --lag 1s \
    --sink "postgres://plumb@$2/postgres" --table component --number-column number --rows 8 \
    --out "$3/orders" --json > "$3/orders.json"
