#!/bin/sh
# A lock server with room for two million locks, whose allocator asks the kernel for large pages when
# LARGE is 1. What memory it has, and how much of that is in large pages, is written into FILE again
# and again while it runs. Ended by SIGTERM to its process group.
#   sh large-pages.sh LARGE FILE
set -eu
GLIBC_TUNABLES=glibc.malloc.hugetlb=$1 "$PLUMB" lock serve --quiet --listen 127.0.0.1:0 \
    --table-size 1GiB &
server=$!
while found=$(grep -E '^(Rss|AnonHugePages):' "/proc/$server/smaps_rollup" 2> /dev/null); do
    echo "$found" > "$2.new" && mv "$2.new" "$2"
    sleep 0.2
done
wait "$server"
