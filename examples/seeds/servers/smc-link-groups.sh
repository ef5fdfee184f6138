#!/bin/sh
# Lets a link group of SMC-R have LIMIT connections, and ends the groups that stand: a group keeps its
# limit, and lives on for minutes. The groups end with their device. One of soft-RoCE is made anew;
# for any other PLUMB_SMC_RESET is the command that takes it down and up again.
#   sh smc-link-groups.sh LIMIT
set -eu
sysctl -q -w "net.smc.smcr_max_conns_per_lgr=$1"
if [ -n "${PLUMB_SMC_RESET:-}" ]; then
    sh -c "$PLUMB_SMC_RESET"
    exit
fi
for device in /sys/class/infiniband/*; do
    parent="$device/parent" # of soft-RoCE alone: its interface
    [ -e "$parent" ] || { echo "set PLUMB_SMC_RESET: $device is no soft-RoCE" >&2; exit 1; }
    interface=$(cat "$parent")
    rdma link delete "${device##*/}"
    rdma link add "${device##*/}" type rxe netdev "$interface"
done
