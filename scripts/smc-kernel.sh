#!/usr/bin/env bash
# smc-kernel.sh FOLDER: fetches Debian's kernel with SMC by a configuration of apt of its own, which
# leaves that of this machine alone, and unpacks what a guest needs of it, unless this very script has
# done so before. Prints nothing; says on standard error why it cannot.
set -euo pipefail
folder="$(realpath -m "$1")"
made="$(sha256sum <"$0")"
[ "$(cat "$folder/made-by" 2>/dev/null)" = "$made" ] && exit 0
suite=trixie
mirror="${DEBIAN_MIRROR:-}"
[ -n "$mirror" ] || mirror="$(grep -hoE 'https?://[^ ]+/debian/?( |$)' -r /etc/apt/sources.list /etc/apt/sources.list.d \
    2>/dev/null | head -1 | tr -d ' ' || true)"
[ -n "$mirror" ] || { echo "no mirror of Debian is known: name one in DEBIAN_MIRROR" >&2; exit 1; }
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keys" ] || { echo "no $keys: install debian-archive-keyring" >&2; exit 1; }

rm -rf "$folder"
mkdir -p "$folder"/apt/{lists/partial,cache/archives/partial} "$folder/root"
cd "$folder"
echo "deb [signed-by=$keys] $mirror $suite main" >apt/sources.list
: >apt/status
own=(-o "Dir::Etc::SourceList=$folder/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache"
    -o "Dir::State::status=$folder/apt/status" -o Acquire::Languages=none -o APT::Sandbox::User=)
apt-get "${own[@]}" update -qq
package="$(apt-cache "${own[@]}" depends linux-image-amd64 |
    awk '/Depends: linux-image-[0-9]/ { print $2; exit }')"
version="${package#linux-image-}"
apt-get "${own[@]}" download -qq "$package"
dpkg-deb --fsys-tarfile "$package"*.deb | tar -x -C root --wildcards './boot/vmlinuz*' \
    '*/modules.builtin*' '*/modules.order' '*/net/smc/*' '*/sw/rxe/*' '*/core/ib_core*' \
    '*/core/ib_uverbs*' '*udp_tunnel*' '*crc32_generic*' '*/sched/sch_netem*' '*/sched/sch_prio*' \
    '*/sched/cls_u32*' '*/net/virtio_net*' '*/net/net_failover*' \
    '*/core/failover*'
rm -rf ./*.deb apt
[ -e root/lib ] || ln -s usr/lib root/lib
depmod -b root "$version"
echo "$version" >version
echo "$made" >made-by
