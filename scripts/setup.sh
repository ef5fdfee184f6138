# Sourced by ./run, ./test and ./dist: brings the tools that building needs, if they are missing.

say() { printf '%s\n' "$*" >&2; }

# Installs Debian packages; says what to do where that is not possible.
packages() {
    if ! command -v apt-get >/dev/null; then
        say "please install: $* (no apt-get here)"
        return 1
    fi
    local as_root=""
    [ "$(id -u)" -eq 0 ] || as_root="sudo"
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -qq -y "$@" >/dev/null 2>&1 && return
    $as_root apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -qq -y "$@" >/dev/null
}

# libxslt for plumb-xslt. Without it, and without the right to install it, everything else is built.
stylesheets() {
    command -v pkg-config >/dev/null && pkg-config --exists libxslt libexslt libxml-2.0 && return
    if [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; then
        packages libxslt1-dev libxml2-dev pkg-config && return
    fi
    say "plumb flow goes without stylesheets: install libxslt1-dev, libxml2-dev and pkg-config for them"
}

# A linker, and a Rust that is new enough.
toolchain() {
    command -v cc >/dev/null || packages gcc libc6-dev
    if ! command -v cargo >/dev/null; then
        command -v rustup >/dev/null || packages rustup
        rustup toolchain install stable --profile minimal --component clippy,rustfmt
    fi
}
