#!/bin/bash
# image.sh BOARD [DIR]: builds the disks of a virtual board in DIR (target/boards/BOARD), as a pipeline would: the
# component by `make install`, no root needed. BOARD is armv7 or aarch64, with BusyBox init, or systemd, which is
# aarch64 with Debian's systemd.
#
#   kernel, initrd           Debian's kernel; BusyBox, its scripts and the component
#   root.img                 of systemd: ext4 with Debian's packages and the component
#   oem_a.img, oem_b.img     squashfs: this tree's bundle, and a next firmware's (see next_firmware)
#   oem_a/, oem_b/           the same as directories
#   userdata.img             empty ext4, for both slots
#   tools.img                strace and kernel modules; of armv7 also what UBI needs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# What a caller's `make install` is told is not meant here.
unset MAKEFLAGS MAKEOVERRIDES PREFIX SYSCONFDIR UNIT_DIR SYSV_SCRIPT BUNDLE BUNDLE_DIR INIT BINARY ASSETS LINT DESTDIR

board=${1:?armv7, aarch64 or systemd}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}
dir=${2:-$CARGO_TARGET_DIR/boards/$board}
boards=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}/boards
userdata_size=64M
root_size=256M

case $board in
armv7) target=armv7-unknown-linux-musleabihf cache=$boards/armv7 ;;
aarch64 | systemd) target=aarch64-unknown-linux-musl cache=$boards/aarch64 ;;
*)
    echo "image: there is no board $board: armv7, aarch64 or systemd" >&2
    exit 1
    ;;
esac
board/qemu/fetch.sh "$board"

# One skill edited, one file of another edited, one skill more and one less.
next_firmware() {
    cp -r oem-skills "$1"
    printf '\nThis line came with the next firmware.\n' >>"$1/planner/SKILL.md"
    printf '\nThis line came with the next firmware.\n' >>"$1/research/templates/report.md"
    cp -r "$1/device-settings" "$1/battery-care"
    sed -i 's/^name: .*/name: battery-care/' "$1/battery-care/SKILL.md"
    rm -r "$1/app-login"
}

component() { # ROOT INIT
    make --no-print-directory -s install DESTDIR="$1" TARGET="$target" INIT="$2"
    mv "$1/oem" "$dir/oem_a"
    mkdir -p "$1"/{oem,userdata,tools}
}

squashfs() { # DIRECTORY IMAGE
    mksquashfs "$1" "$2" -all-root -noappend -no-progress -quiet >/dev/null
}

initrd() { # ROOT
    (cd "$1" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$dir/initrd"
}

with_busybox() {
    local root=$dir/root
    cp -r board/qemu/rootfs "$root"
    mkdir -p "$root"/{bin,dev,lib,proc,run,sbin,sys,tmp,usr/sbin,var/log}
    ln -s /run "$root/var/run"
    ln -s ../bin/busybox "$root/sbin/init"
    install -m 0755 "$cache/busybox" "$root/bin/busybox"
    cp -r "$cache/modules" "$root/lib/modules"
    component "$root" sysv
    initrd "$root"
    rm -rf "$root"
}

with_systemd() {
    local root=$dir/root first=$dir/first
    mkdir -p "$root"/{dev,proc,run,sys} "$first"/{bin,dev,lib,root,sys}
    tar -C "$root" -xf "$boards/systemd/root.tar" --no-same-owner
    cp -r board/qemu/systemd/etc "$root"
    install -m 0755 -t "$root/usr/bin" board/qemu/rootfs/usr/bin/*
    : >"$root/etc/machine-id"
    component "$root" systemd
    systemctl --quiet --root="$root" enable aiden-skills.service agent.service board.service board-shell.service
    systemctl --quiet --root="$root" mask getty-static.service serial-getty@ttyAMA0.service
    # mke2fs takes the owners that it sees: root's.
    truncate -s "$root_size" "$dir/root.img"
    fakeroot mke2fs -q -t ext4 -d "$root" -E root_owner=0:0 "$dir/root.img"
    install -m 0755 board/qemu/systemd/initrd-init "$first/init"
    install -m 0755 "$cache/busybox" "$first/bin/busybox"
    cp -r "$cache/modules" "$first/lib/modules"
    initrd "$first"
    rm -rf "$root" "$first"
}

# Takes its place when it is whole.
place=$dir
[ ! -e "$place" ] || [ -e "$place/initrd" ] || [ -z "$(ls -A "$place")" ] || {
    echo "image: $place holds something else; name another directory" >&2
    exit 1
}
mkdir -p "$(dirname "$place")"
dir=$(mktemp -d "$place-XXXXXX")
trap 'rm -rf "$dir"' EXIT
chmod 0755 "$dir"
if [ "$board" = systemd ]; then with_systemd; else with_busybox; fi
next_firmware "$dir/next"
make --no-print-directory -s install-bundle DESTDIR="$dir/b" BUNDLE="$dir/next"
mv "$dir/b/oem" "$dir/oem_b"
rm -rf "$dir/b" "$dir/next"
squashfs "$dir/oem_a" "$dir/oem_a.img"
squashfs "$dir/oem_b" "$dir/oem_b.img"
squashfs "$cache/tools" "$dir/tools.img"
ln -s "$cache/vmlinuz" "$dir/kernel"
# 4 KiB blocks as on a large disk; nothing left to be initialised in the background.
truncate -s "$userdata_size" "$dir/userdata.img"
mke2fs -q -t ext4 -b 4096 -m 0 -E lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0 "$dir/userdata.img"
rm -rf "$place"
mv "$dir" "$place"
