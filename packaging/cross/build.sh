#!/bin/bash
# build.sh TARGET [FLAG…]: builds the static release binary for TARGET, target/TARGET/release/aiden-skills (or below
# $CARGO_TARGET_DIR), by one of three routes. FLAGs are cargo's.
#
#   cross    `cross` and a container engine: its images hold compiler, C library and linker
#   rustup   the standard library of rustup's target; zig is the C compiler and the linker
#   source   the standard library from the compiler's own source, for where rustup has none; zig as above
#
# $AIDEN_CROSS_ROUTE names one; else the first that can be had is taken (`build.sh --route TARGET` only tells it).
# The same route with the same compiler gives the same bytes wherever and whenever it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

only_tell=
if [ "${1:-}" = --route ]; then
    only_tell=yes
    shift
fi
target=${1:?name a target, such as armv7-unknown-linux-musleabihf}
case $target in
aarch64-unknown-linux-musl | armv7-unknown-linux-musleabihf) ;;
*)
    echo "cross: there is no target $target: aarch64-unknown-linux-musl or armv7-unknown-linux-musleabihf" >&2
    exit 1
    ;;
esac
cache=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}

die() {
    printf 'cross: %s\n' "$*" >&2
    exit 1
}

engine_answers() {
    local engine
    for engine in docker podman; do
        if command -v "$engine" >/dev/null && timeout 20 "$engine" info >/dev/null 2>&1; then return 0; fi
    done
    return 1
}

rustup_has_target() {
    command -v rustup >/dev/null || return 1
    rustup target list --installed 2>/dev/null | grep -qx "$target" ||
        timeout 300 rustup target add "$target" >/dev/null 2>&1
}

# The source must be of the very compiler: a library of another release does not compile.
source_compiler() {
    local compiler
    for compiler in rustc /usr/bin/rustc; do
        if command -v "$compiler" >/dev/null &&
            [ -f "$("$compiler" --print sysroot)/lib/rustlib/src/rust/library/std/Cargo.toml" ]; then
            command -v "$compiler"
            return
        fi
    done
    return 1
}

choose_route() {
    if command -v cross >/dev/null && engine_answers; then
        echo cross
    elif rustup_has_target; then
        echo rustup
    elif source_compiler >/dev/null; then
        echo source
    else
        die "$target can't be built: no cross with a container engine, no such target of rustup, and no source of" \
            "the compiler's library (Debian: packages rustc-web, cargo-web and rust-web-src)"
    fi
}

# No path of this machine reaches the binary. Those of the standard library are the same everywhere.
reproducible_flags() {
    printf '%s ' "--remap-path-prefix=$PWD=/aiden-skills" \
        "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
}

# What keeps the program small: nothing unwinds (panic = "abort"), so no tables for it; on armv7 the instructions of Thumb-2,
# which each such core has, take three quarters of the room.
small_flags() {
    printf '%s ' "-C force-unwind-tables=no"
    case $target in armv7-*) printf '%s ' "-C target-feature=+thumb-mode" ;; esac
}

# In a tree with its crates beside it (vendor.sh), those of the standard library are still to be found. Its source brings
# them: cargo gets one directory of both.
use_vendored() { # [VENDOR OF THE LIBRARY]
    local directory=$PWD/VENDOR
    grep -qsx 'directory = "VENDOR"' .cargo/config.toml || return 0
    if [ $# -gt 0 ]; then
        directory=$(realpath -m "$CARGO_TARGET_DIR/$target/vendored")
        rm -rf "$directory"
        mkdir -p "$directory"
        ln -s -t "$directory" "$PWD"/VENDOR/*
        ln -sf -t "$directory" "$1"/*
        build+=(--config "source.vendored.directory=\"$directory\"")
    fi
    RUSTFLAGS+="--remap-path-prefix=$directory=/cargo/crates "
}

with_zig() {
    local python=$cache/venv/bin/python
    [ -x "$python" ] || die "zig is missing: run make install-tools"
    CARGO_ZIGBUILD_ZIG_PATH=$("$python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
    export CARGO_ZIGBUILD_ZIG_PATH
    cargo "$@"
}

export PATH=$PATH:$cache/venv/bin
route=${AIDEN_CROSS_ROUTE:-$(choose_route)}
if [ -n "$only_tell" ]; then
    echo "$route"
    exit
fi
build=(--locked --release --target "$target" "${@:2}")
RUSTFLAGS="$(reproducible_flags)$(small_flags)"
case $route in
cross)
    printf 'cross: %s in the container of cross\n' "$target"
    export RUSTFLAGS
    exec cross build "${build[@]}"
    ;;
rustup)
    printf 'cross: %s with the standard library of rustup, linked by zig\n' "$target"
    use_vendored
    export RUSTFLAGS
    with_zig zigbuild "${build[@]}"
    ;;
source)
    compiler=$(source_compiler) || die "there is no source of a compiler's library"
    printf 'cross: %s with the standard library from the source of %s, linked by zig\n' \
        "$target" "$("$compiler" --version)"
    use_vendored "$("$compiler" --print sysroot)/lib/rustlib/src/rust/library/vendor"
    # A library from source brings no crt files; zig's are taken. RUSTC_BOOTSTRAP allows -Zbuild-std on stable.
    export PATH=${compiler%/*}:$PATH RUSTC_BOOTSTRAP=1 RUSTFLAGS="$RUSTFLAGS -C link-self-contained=no"
    # Without those parts of it that name functions in a backtrace, which a stripped program has no names for, and without
    # the place in the source that a panic would name: those of all crates take 3 % of the room.
    RUSTFLAGS+=" -Z location-detail=none"
    with_zig zigbuild "${build[@]}" -Zbuild-std=std,panic_abort -Zbuild-std-features=optimize_for_size
    ;;
*) die "there is no route $route: cross, rustup or source" ;;
esac
