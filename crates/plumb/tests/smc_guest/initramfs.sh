#!/usr/bin/env bash
# initramfs.sh KERNEL PLUMB SEEDS OUT: the first file system of a guest that has nothing but busybox,
# plumb, tc and rdma with their libraries, the folder SEEDS, and the modules that it needs.
set -euo pipefail
kernel="$(realpath "$1")" plumb="$2" seeds="$3" out="$(realpath -m "$4")"
here="$(dirname "$(realpath "$0")")"
version="$(cat "$kernel/version")"
root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,proc,sys,dev,tmp,out,modules}

take() { # a program and its libraries; a static one has none
    cp "$1" "$root/bin/$2"
    { ldd "$1" 2>/dev/null | grep -oE '/[^ ]+' || true; } | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -L -n "$library" "$root$library"
    done
}
take "$plumb" plumb
strip "$root/bin/plumb" 2>/dev/null || true
take "$(command -v tc || echo /usr/sbin/tc)" tc
take "$(command -v rdma || echo /usr/bin/rdma)" rdma
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$here/init" "$root/init"
cp -r "$here/steps" "$root/steps"
cp -r "$seeds" "$root/seeds"
chmod +x "$root/init"

: >"$root/modules/order"
for module in crc32_generic rdma_rxe smc smc_diag sch_netem sch_prio cls_u32 virtio_pci virtio_net; do
    modprobe -d "$kernel/root" -S "$version" --show-depends "$module" | awk '/^insmod/ { print $2 }'
done | awk '!seen[$0]++' | while read -r path; do
    name="$(basename "${path%.xz}")"
    case "$path" in
        *.xz) xz -dc "$path" >"$root/modules/$name" ;;
        *) cp "$path" "$root/modules/$name" ;;
    esac
    strip --strip-debug "$root/modules/$name"
    echo "$name" >>"$root/modules/order"
done
# not compressed: a processor that is emulated takes longer to unpack it
(cd "$root" && find . | cpio -o -H newc --quiet) >"$out"
