#!/bin/bash
# vendor.sh DIR: puts the crates of the package in DIR, and those of its fuzz targets, into DIR/VENDOR, and the
# setting that makes cargo take them from there into DIR/.cargo/config.toml.
set -euo pipefail

directory=$(cd "${1:?name the directory of the package}" && pwd)

# From the root, so that no setting of a checkout is read, least of all that of an earlier run. The user's are: they
# may name a mirror.
(
    cd /
    cargo vendor --locked --quiet --versioned-dirs --respect-source-config \
        --manifest-path "$directory/Cargo.toml" --sync "$directory/fuzz/Cargo.toml" "$directory/VENDOR" >/dev/null
)
mkdir -p "$directory/.cargo"
cat >"$directory/.cargo/config.toml" <<'END'
# The crates lie beside the source, so that it builds without network.
[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = "VENDOR"
END
