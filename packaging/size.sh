#!/bin/bash
# size.sh TARGET…: tells what takes the room in the boards' programs: sections, crates and the biggest functions, from a
# build with symbols, in target/size (or below $CARGO_TARGET_DIR). `size.sh --limits TARGET…` builds nothing. Either
# ends with the sizes, and fails when one is beyond its limit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
    printf 'size: %s\n' "$*" >&2
    exit 1
}

only_limits=
if [ "${1:-}" = --limits ]; then
    only_limits=yes
    shift
fi
[ $# -gt 0 ] || die "name the targets, such as armv7-unknown-linux-musleabihf"
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
bloat=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}/cargo-tools/bin/cargo-bloat

limit() { # TARGET
    case $1 in
    armv7-*) echo $((5 * 1024 * 1024 / 2)) ;;
    aarch64-*) echo $((3 * 1024 * 1024)) ;;
    *) die "no limit is known for $1" ;;
    esac
}

within_limit() { # TARGET
    local bytes limit verdict=within
    bytes=$(stat -c %s "$CARGO_TARGET_DIR/$1/release/aiden-skills") || die "build $1 first: make cross"
    limit=$(limit "$1")
    if ((bytes > limit)); then verdict=BEYOND; fi
    printf '%-32s %8d bytes, %s the limit of %d (%d %%)\n' "$1" "$bytes" "$verdict" "$limit" $((bytes * 100 / limit))
    ((bytes <= limit))
}

sections() { # FILE
    readelf -SW "$1" | sed -n 's/^ *\[ *[0-9]*\] \(\.[^ ]*\) *[A-Z_]* *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1 \2/p' |
        while read -r name bytes; do printf '%9d  %s\n' "0x$bytes" "$name"; done | sort -rn | head -n 8
}

# cargo-bloat would build by itself, and knows neither zig nor the other routes. So it is told of a build that is done:
# the cargo that it calls answers what that one said.
biggest() { # TARGET CARGO-BLOAT'S FLAG…
    local flags=()
    if [ "$route" = source ]; then flags=(-Z build-std=std); fi
    PATH=$work:$PATH "$bloat" bloat --release --target "$1" "${flags[@]}" --message-format table "${@:2}"
}

explain() { # TARGET
    route=$(packaging/cross/build.sh --route "$1")
    [ "$route" != cross ] || die "paths in a container tell nothing here: set AIDEN_CROSS_ROUTE=rustup or source"
    CARGO_TARGET_DIR=$CARGO_TARGET_DIR/size CARGO_PROFILE_RELEASE_STRIP=false \
        packaging/cross/build.sh "$1" --message-format=json | grep '^{' >"$work/messages"
    printf '\n%s: bytes by section\n' "$1"
    sections "$CARGO_TARGET_DIR/$1/release/aiden-skills"
    printf '\n%s: by crate\n' "$1"
    biggest "$1" --crates -n 0
    printf '\n%s: by function\n' "$1"
    biggest "$1" -n 25 | cut -c 1-160
}

if [ -z "$only_limits" ]; then
    [ -x "$bloat" ] || die "cargo-bloat is missing: run tests/tools/install.sh size"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cat >"$work/cargo" <<END
#!/bin/sh
case "\$*" in
build*--message-format=json*) cat "$work/messages" ;;
build*) ;;
*) exec "$(command -v cargo)" "\$@" ;;
esac
END
    chmod +x "$work/cargo"
    for target in "$@"; do explain "$target"; done
    echo
fi
failed=0
for target in "$@"; do within_limit "$target" || failed=1; done
exit "$failed"
