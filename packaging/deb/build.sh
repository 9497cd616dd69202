#!/bin/bash
# build.sh TARGET…: makes Debian packages of the cross-built programs, in target/dist (or below $CARGO_TARGET_DIR), for
# people who try the component on a board with Debian, such as a Raspberry Pi. Same bytes from the same programs. Takes
# the licences from what dist.sh has made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export LC_ALL=C
# What a caller's `make install` is told is not meant here.
unset MAKEFLAGS MAKEOVERRIDES PREFIX SYSCONFDIR UNIT_DIR SYSV_SCRIPT BUNDLE BUNDLE_DIR INIT BINARY ASSETS LINT DESTDIR
umask 022

die() {
    printf 'deb: %s\n' "$*" >&2
    exit 1
}

[ $# -gt 0 ] || die "name the targets, such as armv7-unknown-linux-musleabihf"
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
cargo_deb=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}/cargo-tools/bin/cargo-deb
[ -x "$cargo_deb" ] || die "cargo-deb is missing: run make install-tools"
if [ -e .git ]; then time_of_source=$(git log -1 --format=%ct); else time_of_source=$(stat -c %Y CHANGELOG.md); fi
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$time_of_source}

# There is no file system of its own for the library.
adapted_defaults() { # FILE
    sed -i 's/^#\(USERDATA_IS_MOUNT\)=yes$/\1=no/' "$1"
    grep -qx USERDATA_IS_MOUNT=no "$1" || die "board/default/aiden-skills has no line to set USERDATA_IS_MOUNT by"
}

licences=$(echo "$CARGO_TARGET_DIR"/dist/aiden-skills-*-licences.txt)
[ -f "$licences" ] || die "the licences are missing: run make dist"
for target in "$@"; do
    root=$CARGO_TARGET_DIR/$target/release/deb
    rm -rf "$root"
    make --no-print-directory --silent install TARGET="$target" DESTDIR="$root" INIT=systemd \
        UNIT_DIR=/lib/systemd/system
    adapted_defaults "$root/etc/default/aiden-skills"
    gzip -9n "$root"/usr/share/man/man1/*.1
    install -D -m 0644 "$licences" "$root/usr/share/doc/aiden-skills/licences.txt"
    gzip -9n "$root/usr/share/doc/aiden-skills/licences.txt"
    install -D -m 0644 packaging/deb/lintian-overrides "$root/usr/share/lintian/overrides/aiden-skills"
    "$cargo_deb" --quiet --locked --no-build --no-strip --target "$target" --output "$CARGO_TARGET_DIR/dist/"
done
cd "$CARGO_TARGET_DIR/dist"
sha256sum -- aiden-skills* >SHA256SUMS
printf 'deb: %s\n' "$PWD"/*.deb
