#!/bin/bash
# fetch.sh BOARD: gets what a virtual board needs from Debian into $AIDEN_CACHE/boards/BOARD, without touching the
# package architectures of this machine. For armv7 and aarch64:
#
#   vmlinuz, modules/*.ko, modules/order   the kernel, and its modules in the order of loading
#   busybox                                static
#   tools/                                 strace, netcat, for armv7 also the tools of UBI, and their libraries
#   tools/modules/*.ko, *.order            more modules, and for each of their uses those it takes, in that order
#
# For systemd, which boots the kernel of aarch64: root.tar, a root file system with systemd.
set -euo pipefail

board=${1:?armv7, aarch64 or systemd}
cache=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}
place=$cache/boards/$board
modules=(virtio_mmio virtio_blk ext4 squashfs)
more_modules=(f2fs 'vfat nls_cp437 nls_ascii nls_utf8' loop)
# BusyBox has no client for unix sockets.
tools=(strace nc.openbsd)

die() {
    printf 'fetch: %s\n' "$*" >&2
    exit 1
}

case $board in
armv7)
    architecture=armhf flavour=armmp
    # Only this kernel of Debian's has NAND in memory.
    more_modules+=('nandsim lzo deflate zstd ubi ubifs')
    tools+=(ubiattach ubidetach ubimkvol)
    ;;
aarch64 | systemd) architecture=arm64 flavour=arm64 ;;
*) die "there is no board $board: armv7, aarch64 or systemd" ;;
esac

# Fetched by another version of this file, it is fetched again.
! cmp -s "$0" "$place/fetched-by" || exit 0
printf 'fetch: what the board %s needs, from Debian\n' "$board"
mkdir -p "$cache/boards"
work=$(mktemp -d "$cache/boards/.$board-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,place}
# An empty status: nothing counts as installed.
touch "$work/status"
options=(-q -o "Dir::State::lists=$work/lists" -o "Dir::State::status=$work/status" -o "Dir::Cache=$work/cache"
    -o APT::Sandbox::User=root -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture")

# Of foreign architectures the list of security updates is out of step now and then; the main list is enough.
update_lists() {
    apt-get "${options[@]}" update >"$work/log" 2>&1 || apt-get "${options[@]}" update >"$work/log" 2>&1 || true
}

unpack() { # ROOT
    local package
    mkdir -p "$1"
    for package in "$work"/cache/archives/*.deb; do dpkg-deb -x "$package" "$1"; done
}

no_packages() {
    cat "$work/log" >&2
    die "Debian's packages for $architecture can't be had; see above"
}

take_modules() { # DIRECTORY ORDER MODULE…
    local module
    modprobe -a -d "$work/root" -S "$version" --show-depends "${@:3}" |
        sed -n 's/^insmod \(.*\.ko\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
        cp "$module" "$1/"
        echo "${module##*/}" >>"$1/$2"
    done
}

kernel_and_busybox() {
    local kernel version use tool packages=(busybox-static strace netcat-openbsd libbsd0 libmd0 libc6)
    [ "$board" != armv7 ] || packages+=(mtd-utils)
    kernel=$(apt-cache "${options[@]}" depends "linux-image-$flavour" | sed -n 's/^ *Depends: //p')
    (cd "$work/cache/archives" && apt-get "${options[@]}" download "$kernel" "${packages[@]}") \
        >>"$work/log" 2>&1 || no_packages
    unpack "$work/root"
    version=${kernel#linux-image-}
    depmod -b "$work/root" "$version" 2>/dev/null
    mkdir -p "$work/place/modules" "$work/place/tools/modules"
    take_modules "$work/place/modules" order "${modules[@]}"
    for use in "${more_modules[@]}"; do
        # shellcheck disable=SC2086 # words
        take_modules "$work/place/tools/modules" "${use%% *}.order" $use
    done
    cp "$work/root/boot/vmlinuz-$version" "$work/place/vmlinuz"
    for tool in "${tools[@]}"; do
        cp "$(find "$work/root" -path "*bin/$tool")" "$work/place/tools/"
    done
    cp "$work"/root/lib/*/{libc.so.6,libresolv.so.2,ld-linux*} "$work"/root/usr/lib/*/lib{bsd,md}.so.0 "$work/place/tools/"
    cp "$work/root/bin/busybox" "$work/place/busybox"
}

# Unpacked only: no script of a package runs.
root_with_systemd() {
    apt-get "${options[@]}" -y --no-install-recommends --download-only install systemd systemd-sysv udev dash mount \
        coreutils findutils grep sed >>"$work/log" 2>&1 || no_packages
    unpack "$work/root"
    rm -rf "$work"/root/usr/share/{doc,man,locale,info,perl*,zoneinfo,i18n} "$work"/root/usr/lib/*/{perl*,gconv} \
        "$work/root/lib/udev/hwdb.d"
    tar -C "$work/root" -cf "$work/place/root.tar" .
}

update_lists
if [ "$board" = systemd ]; then
    "$0" aarch64
    root_with_systemd
else
    kernel_and_busybox
fi
cp "$0" "$work/place/fetched-by"
[ ! -e "$place" ] || mv "$place" "$work/before"
# Another run may have been quicker.
mv -T "$work/place" "$place" || cmp -s "$0" "$place/fetched-by"
