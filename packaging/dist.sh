#!/bin/bash
# dist.sh TARGET…: makes what a release hands out, in target/dist (or below $CARGO_TARGET_DIR):
#
#   aiden-skills-VERSION-TARGET.tar        what `make install` installs, for each target
#   aiden-skills-VERSION-TARGET.cdx.json   the crates in its program (CycloneDX)
#   aiden-skills-VERSION-source.tar.gz     the last commit and the source of all crates; builds without network
#   aiden-skills-VERSION-licences.txt      the licences of all that is in the programs
#   SHA256SUMS
#
# The same commit gives the same bytes. Times are $SOURCE_DATE_EPOCH, by default that of the commit. Works in an
# unpacked source tarball too, where times are that of CHANGELOG.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C
# What a caller's `make install` is told is not meant here.
unset MAKEFLAGS MAKEOVERRIDES PREFIX SYSCONFDIR UNIT_DIR SYSV_SCRIPT BUNDLE BUNDLE_DIR INIT BINARY ASSETS LINT DESTDIR
umask 022

say() { printf 'dist: %s\n' "$*"; }
die() {
    printf 'dist: %s\n' "$*" >&2
    exit 1
}

[ $# -gt 0 ] || die "name the targets, such as armv7-unknown-linux-musleabihf"
targets=("$@")
name=aiden-skills
version=$(sed -n '/^version = "/{s/.*"\(.*\)".*/\1/p;q}' Cargo.toml)
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
cyclonedx=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}/cargo-tools/bin/cargo-cyclonedx
[ -x "$cyclonedx" ] || die "cargo-cyclonedx is missing: run make install-tools"

if [ -e .git ]; then
    revision=$(git rev-parse --short=12 HEAD)
    time_of_source=$(git log -1 --format=%ct)
    [ -z "$(git status --porcelain)" ] ||
        say "there are changes that are not committed: the source tarball is of $revision without them"
else
    revision=
    time_of_source=$(stat -c %Y CHANGELOG.md)
fi
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$time_of_source}

mkdir -p "$CARGO_TARGET_DIR/dist"
work=$(mktemp -d "$CARGO_TARGET_DIR/dist-XXXXXX")
trap 'rm -rf "$work"' EXIT
out=$work/out
source=$work/$name-$version
mkdir "$out" "$source"

archive() { # DIRECTORY NAME…
    tar -c -C "$1" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX -- "${@:2}"
}

# An unpacked source tarball has its crates and its revision; nothing is added to it.
source_tree() {
    if [ -n "$revision" ]; then
        git archive HEAD | tar -x -C "$source"
    else
        sed -n -e '/VENDOR\|config.toml/d' -e 's|^/|./|p' .gitignore |
            tar -c --anchored --exclude-from=- --exclude="./${CARGO_TARGET_DIR#"$PWD"/}" . | tar -x -C "$source"
    fi
    if [ ! -d "$source/VENDOR" ]; then packaging/vendor.sh "$source"; fi
    if ! grep -q '^AIDEN_REVISION' "$source/.cargo/config.toml"; then
        printf '\n[env]\nAIDEN_REVISION = "%s"\n' "${revision:-no revision}" >>"$source/.cargo/config.toml"
    fi
}

tree() { # TARGET FORMAT
    (cd "$source" && cargo tree --locked --offline -e normal --target "$1" --prefix none --no-dedupe -f "$2") | sort -u
}

installed() { # TARGET
    local root=$work/$1
    make --no-print-directory --silent install TARGET="$1" DESTDIR="$root" >&2
    (cd "$root" && archive . ./*)
}

sbom() { # TARGET
    tree "$1" '{p}' >"$work/tree"
    (cd "$source" && "$cyclonedx" cyclonedx -q --format json --spec-version 1.5 --license-strict --no-build-deps \
        --target "$1" --override-filename sbom >&2)
    packaging/sbom.py "$work/tree" <"$source/sbom.json"
    rm "$source/sbom.json"
}

# A text that several crates bring is there once, below the names of all.
licences() {
    local crates crate file sum texts=()
    declare -A first=() users=()
    crates=$(for target in "${targets[@]}"; do tree "$target" '{p}|{l}'; done |
        sed -e 's/ (proc-macro)//' -e "/^$name v/d" | sort -u)
    printf '%s %s is licensed under the MIT licence:\n\n' "$name" "$version"
    cat LICENSE
    printf '\nThe programs for the boards contain musl, the Rust standard library and these crates:\n\n'
    awk -F '|' '{ sub(/ v/, " ", $1); printf "  %-40s %s\n", $1, $2 }' <<<"$crates"
    for file in musl rust; do
        heading "$file"
        cat "packaging/licences/$file.txt"
    done
    while IFS='|' read -r crate _; do
        crate=${crate/ v/-}
        local found=
        for file in "$source/VENDOR/$crate"/*; do
            case ${file##*/} in
            *[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]* | COPYING* | COPYRIGHT* | NOTICE*) ;;
            *) continue ;;
            esac
            [ -f "$file" ] || continue
            found=yes
            sum=$(tr -s '[:space:]' ' ' <"$file" | sha256sum)
            if [ -z "${first[$sum]:-}" ]; then
                first[$sum]=$file
                texts+=("$sum")
            fi
            case "${users[$sum]:-} " in
            *" $crate "*) ;;
            *) users[$sum]+=" $crate" ;;
            esac
        done
        [ -n "$found" ] || die "the crate $crate brings no licence text"
    done <<<"$crates"
    for sum in "${texts[@]}"; do
        heading "$(fold -s -w 100 <<<"${users[$sum]# }")"
        cat "${first[$sum]}"
    done
}

heading() {
    printf '\n%s\n%s\n%s\n\n' "$(printf '=%.0s' {1..100})" "$1" "$(printf -- '-%.0s' {1..100})"
}

source_tree
archive "$work" "$name-$version" | gzip -9n >"$out/$name-$version-source.tar.gz"
for target in "${targets[@]}"; do
    installed "$target" >"$out/$name-$version-$target.tar"
    sbom "$target" >"$out/$name-$version-$target.cdx.json"
done
licences >"$out/$name-$version-licences.txt"

rm -f "$CARGO_TARGET_DIR/dist/$name"*
mv "$out"/* "$CARGO_TARGET_DIR/dist"
cd "$CARGO_TARGET_DIR/dist"
sha256sum -- "$name"* >SHA256SUMS
say "in $PWD:"
cat SHA256SUMS
