#!/bin/bash
# fetch.sh BOARD: gets Debian's kernel, static BusyBox and strace for a virtual board into
# $AIDEN_CACHE/boards/BOARD, without touching the package architectures of this machine:
#
#   vmlinuz, modules/*.ko, modules/order   the kernel, and its modules in the order of loading
#   busybox                                static
#   tools/                                 strace and its C library
set -euo pipefail

board=${1:?armv7 or aarch64}
cache=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}
place=$cache/boards/$board
modules=(virtio_mmio virtio_blk ext4 squashfs)

case $board in
armv7) architecture=armhf flavour=armmp ;;
aarch64) architecture=arm64 flavour=arm64 ;;
*)
    echo "fetch: there is no board $board: armv7 or aarch64" >&2
    exit 1
    ;;
esac

[ ! -e "$place/busybox" ] || exit 0
printf 'fetch: kernel and BusyBox of the board %s\n' "$board"
mkdir -p "$cache/boards"
work=$(mktemp -d "$cache/boards/.$board-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$work/place/modules"
options=(-q -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root
    -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture")

# Of foreign architectures the list of security updates is out of step now and then; the main list is enough.
apt-get "${options[@]}" update >"$work/log" 2>&1 ||
    apt-get "${options[@]}" update >"$work/log" 2>&1 || true
kernel=$(apt-cache "${options[@]}" depends "linux-image-$flavour" | sed -n 's/^ *Depends: //p')
if ! (cd "$work/debs" && apt-get "${options[@]}" download "$kernel" busybox-static strace libc6 >>"$work/log" 2>&1); then
    cat "$work/log" >&2
    echo "fetch: Debian's packages for $architecture can't be had; see above" >&2
    exit 1
fi
for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/root"; done

version=${kernel#linux-image-}
depmod -b "$work/root" "$version" 2>/dev/null
modprobe -a -d "$work/root" -S "$version" --show-depends "${modules[@]}" |
    sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
    cp "$module" "$work/place/modules/"
    echo "${module##*/}" >>"$work/place/modules/order"
done
cp "$work/root/boot/vmlinuz-$version" "$work/place/vmlinuz"
mkdir "$work/place/tools"
cp "$work/root/usr/bin/strace" "$work/place/tools/"
cp "$work/root"/lib/*/{libc.so.6,ld-linux*} "$work/place/tools/"
cp "$work/root/bin/busybox" "$work/place/busybox"
rm -rf "$place"
mv "$work/place" "$place"
