#!/bin/bash
# reproducible.sh TARGET: builds TARGET once more, from a copy of the tree elsewhere, with another home, cargo home, time
# zone and umask, and compares with what build.sh made: the bytes must be the same, and the program as a board needs it.
# `reproducible.sh --look TARGET` only looks at the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { printf 'reproducible: %s\n' "$*"; }
die() {
    printf 'reproducible: %s\n' "$*" >&2
    exit 1
}

only_look=
if [ "${1:-}" = --look ]; then
    only_look=yes
    shift
fi
target=${1:?name a target, such as armv7-unknown-linux-musleabihf}
tree=$PWD
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
program=$target_dir/$target/release/aiden-skills
cargo_home=${CARGO_HOME:-${HOME:?}/.cargo}
cache=${AIDEN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/aiden-skills}
[ -f "$program" ] || die "$program is missing: run make cross"

has_line() { grep -q -- "$1" <<<"$2" || die "$target: $3"; }
has_no_line() { ! grep -q -- "$1" <<<"$2" || die "$target: $3"; }

# Static, stripped, of the board's processor and calling convention, and without a path of this machine.
look() {
    local header segments dynamic sections path
    header=$(LC_ALL=C readelf -hW "$program")
    segments=$(LC_ALL=C readelf -lW "$program")
    dynamic=$(LC_ALL=C readelf -dW "$program")
    sections=$(LC_ALL=C readelf -SW "$program")
    case $target in
    armv7-*hf)
        has_line 'Class: *ELF32' "$header" "no 32-bit program"
        has_line 'Machine: *ARM$' "$header" "no program for ARM"
        has_line 'Flags:.*hard-float ABI' "$header" "not of the hard-float ABI"
        has_line 'Tag_CPU_arch: v7' "$(LC_ALL=C readelf -AW "$program")" "not for ARMv7"
        ;;
    aarch64-*)
        has_line 'Class: *ELF64' "$header" "no 64-bit program"
        has_line 'Machine: *AArch64' "$header" "no program for AArch64"
        ;;
    *) die "how a program for $target looks is not known" ;;
    esac
    has_no_line INTERP "$segments" "needs a program interpreter, so it is not static"
    has_no_line NEEDED "$dynamic" "needs shared libraries, so it is not static"
    has_no_line 'GNU_STACK.*RWE' "$segments" "has an executable stack"
    has_no_line '\.symtab\|\.debug_' "$sections" "is not stripped"
    for path in "$tree/" "$target_dir/" "$HOME/" "$cargo_home/" "$cache/"; do
        ! grep -qaF -- "$path" "$program" || die "$target: holds the path $path of this machine"
    done
    say "$target is static, stripped, of the right ABI, and holds no path of this machine"
}

look
[ -z "$only_look" ] || exit 0

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/some/tree" "$copy/home" "$copy/cargo/registry"
git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
    tar -c --null --files-from=- | tar -x -C "$copy/some/tree"
for part in index cache; do
    [ ! -d "$cargo_home/registry/$part" ] || cp -R "$cargo_home/registry/$part" "$copy/cargo/registry/"
done

say "builds $target in $copy"
started=$SECONDS
(
    umask 027
    cd "$copy/some/tree" || exit
    revision=$(git -C "$tree" rev-parse --short=12 HEAD)
    export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} AIDEN_CACHE=$cache AIDEN_REVISION=${AIDEN_REVISION:-$revision}
    export HOME=$copy/home CARGO_HOME=$copy/cargo CARGO_TARGET_DIR=$copy/built TZ=Asia/Kathmandu LC_ALL=C
    packaging/cross/build.sh "$target" >"$copy/log" 2>&1
) || {
    cat "$copy/log" >&2
    die "the second build of $target failed"
}
again=$copy/built/$target/release/aiden-skills
if ! cmp -- "$program" "$again"; then
    diff <(strings -n 6 "$program") <(strings -n 6 "$again") | head -n 40 >&2 || true
    die "$target: two builds of the same source differ"
fi
say "$target: the same $(stat -c %s "$program") bytes from another place ($((SECONDS - started)) s)"
