#!/usr/bin/env bash
# Makes Debian packages: scripts/deb.sh FOLDER PROGRAM [PLUMB-XSLT], and prints their paths. PROGRAM runs
# here: its manual pages and completions are what it says of itself. The same programs and sources make
# the same bytes.
set -euo pipefail
given="$1" folder="$(realpath "$1")" program="$(realpath "$2")" xslt="${3:+$(realpath "$3")}"
cd "$(dirname "$0")/.."
umask 022

version="$("$program" --version | cut -d' ' -f2)"
architecture="$(dpkg --print-architecture)"
# the time of the sources, not of the build; dpkg-deb takes it from there
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}"
export SOURCE_DATE_EPOCH
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# What the program of a package needs from others, as a field; nothing if it is static.
depends() {
    if ldd "$work/debian/$1/usr/bin/$1" 2>&1 | grep --quiet 'statically linked\|not a dynamic'; then return; fi
    printf 'Source: plumb\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/debian/control"
    (cd "$work" && dpkg-shlibdeps -O -e"debian/$1/usr/bin/$1") | sed -n 's/^shlibs:Depends=//p'
}

# The documents that every package has.
documents() {
    local at="$work/debian/$1/usr/share/doc/$1"
    mkdir -p "$at"
    { cat deploy/debian/copyright; tail -n +5 LICENSE-MIT | sed 's/^$/./; s/^/ /'; } >"$at/copyright"
    printf '%s (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- %s  %s\n' \
        "$1" "$version" "$(sed -n 's/^Maintainer: //p' deploy/debian/control)" \
        "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$at/changelog.gz"
    # the libraries in the program, with their versions and licenses
    cargo tree --locked --package "$1" --edges normal --prefix none --format '{p}: {l}' |
        sed '/^plumb/d; s/ (\*)$//; s/ (proc-macro)//' | LC_ALL=C sort -u | gzip -9n >"$at/libraries.gz"
}

# Packs what lies in the folder of a package, described by `control`.
pack() {
    local root="$work/debian/$1" file="$1_${version}_$architecture.deb" needs
    needs="$(depends "$1")"
    sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@DEPENDS@/$needs/
        s/@SIZE@/$(du -sk --apparent-size --exclude DEBIAN "$root" | cut -f1)/; /^Depends: $/d" \
        "$2" >"$root/DEBIAN/control"
    (cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | LC_ALL=C sort -z |
        xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    dpkg-deb --root-owner-group --build "$root" "$folder/$file" >/dev/null
    printf '%s\n' "$given/$file"
}

root="$work/debian/plumb"
mkdir -p "$root/DEBIAN"
install -D -m 755 "$program" "$root/usr/bin/plumb"
units="$root/usr/lib/systemd/system"
mkdir -p "$units/plumb-.service.d"
install -m 644 deploy/systemd/*.service "$units"
install -m 644 deploy/systemd/plumb-.service.d/*.conf "$units/plumb-.service.d"
install -D -m 644 deploy/systemd/tmpfiles.conf "$root/usr/lib/tmpfiles.d/plumb.conf"
install -D -m 644 deploy/systemd/remote.env "$root/etc/plumb/remote.env"

pages="$root/usr/share/man/man1"
"$program" man --out "$pages"
gzip -9n "$pages"/*
mkdir -p "$root"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
"$program" complete bash >"$root/usr/share/bash-completion/completions/plumb"
"$program" complete zsh >"$root/usr/share/zsh/vendor-completions/_plumb"
"$program" complete fish >"$root/usr/share/fish/vendor_completions.d/plumb.fish"

documents plumb
install -m 644 docs/ten-machines.md "$root/usr/share/doc/plumb"
examples="$root/usr/share/doc/plumb/examples"
mkdir -p "$examples"/{nats,compose,kubernetes}
install -m 644 deploy/Containerfile "$examples"
install -m 644 deploy/nats/nats.conf "$examples/nats"
install -m 755 deploy/nats/credentials.sh "$examples/nats"
install -m 644 deploy/compose/{compose.yaml,remote.toml} "$examples/compose"
install -m 644 deploy/kubernetes/*.yaml "$examples/kubernetes"
install -D -m 644 deploy/debian/lintian-overrides "$root/usr/share/lintian/overrides/plumb"

install -m 755 deploy/debian/{postinst,prerm,postrm} "$root/DEBIAN"
echo /etc/plumb/remote.env >"$root/DEBIAN/conffiles"
pack plumb deploy/debian/control

[ -n "$xslt" ] || exit 0
root="$work/debian/plumb-xslt"
mkdir -p "$root/DEBIAN"
install -D -m 755 "$xslt" "$root/usr/bin/plumb-xslt"
documents plumb-xslt
install -D -m 644 deploy/debian/plumb-xslt.1 "$root/usr/share/man/man1/plumb-xslt.1"
gzip -9n "$root/usr/share/man/man1/plumb-xslt.1"
pack plumb-xslt deploy/debian/control-xslt
