#!/bin/bash
# image.sh BOARD [DIR]: builds the disks of a virtual board in DIR (target/boards/BOARD), as a pipeline would: the
# component by `make install`, no root needed.
#
#   kernel, initrd           Debian's kernel; BusyBox, its scripts and the component
#   oem_a.img, oem_b.img     squashfs: this tree's bundle, and a next firmware's (see next_firmware)
#   oem_a/, oem_b/           the same as directories
#   userdata.img             empty ext4, for both slots
#   tools.img                strace
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

board=${1:?armv7 or aarch64}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}
dir=${2:-$CARGO_TARGET_DIR/boards/$board}
cache=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}/boards/$board
userdata_size=64M

case $board in
armv7) target=armv7-unknown-linux-musleabihf ;;
aarch64) target=aarch64-unknown-linux-musl ;;
*)
    echo "image: there is no board $board: armv7 or aarch64" >&2
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

squashfs() {
    rm -f "$2"
    mksquashfs "$1" "$2" -all-root -noappend -no-progress -quiet >/dev/null
}

rm -rf "$dir"
mkdir -p "$dir"
root=$dir/root
cp -r board/qemu/rootfs "$root"
mkdir -p "$root"/{bin,dev,lib,oem,proc,run,sbin,sys,tmp,tools,userdata,usr/sbin,var/log}
ln -s /run "$root/var/run"
ln -s ../bin/busybox "$root/sbin/init"
install -m 0755 "$cache/busybox" "$root/bin/busybox"
cp -r "$cache/modules" "$root/lib/modules"

make --no-print-directory -s install DESTDIR="$root" TARGET="$target" INIT=sysv
mv "$root/oem" "$dir/oem_a"
mkdir "$root/oem"
next_firmware "$dir/next"
make --no-print-directory -s install-bundle DESTDIR="$dir/b" BUNDLE="$dir/next"
mv "$dir/b/oem" "$dir/oem_b"
rm -rf "$dir/b" "$dir/next"

squashfs "$dir/oem_a" "$dir/oem_a.img"
squashfs "$dir/oem_b" "$dir/oem_b.img"
squashfs "$cache/tools" "$dir/tools.img"
(cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$dir/initrd"
ln -s "$cache/vmlinuz" "$dir/kernel"
# 4 KiB blocks as on a large disk; nothing left to be initialised in the background.
truncate -s "$userdata_size" "$dir/userdata.img"
mke2fs -q -t ext4 -b 4096 -m 0 -E lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0 "$dir/userdata.img"
rm -rf "$root"
