#!/bin/bash
# run.sh BOARD [OPTION…] [-- QEMU-OPTION…]: starts a virtual board (armv7, aarch64 or systemd) on this terminal: one
# core, 256 MB, no network, and a clock that stands at 1970 when it starts.
#
#   --images DIR        where image.sh left the disks (target/boards/BOARD)
#   --userdata FILE     the disk of /userdata (DIR/userdata.img)
#   --slot a|b          the firmware that is booted (a)
#   --append WORDS      more for the kernel's command line
#   --no-oem            neither slot has its disk
#   --write-protected   /userdata's disk refuses writes
#   --oem FILE          the disk of the firmware that is booted (DIR/oem_SLOT.img)
#   --fault DISK:KIND:SECTOR[,SECTOR…][:once]
#                       reading or writing (KIND: read, write) one of these sectors of userdata, oem_a or oem_b fails with
#                       EIO (QEMU's blkdebug), each time or each once
#   --record LOG        writes to /userdata's disk, and flushes, go to LOG too, in order (QEMU's blklogwrites)
#   --clock TIME        what the clock says at start (1970-01-01T00:00:00)
set -euo pipefail

board=${1:?armv7, aarch64 or systemd}
shift
images='' userdata='' oem_disk='' fault='' slot=a append='' oem=yes protection=off record='' clock=1970-01-01T00:00:00
while [ $# -gt 0 ]; do
    case $1 in
    --images) images=$2 && shift ;;
    --userdata) userdata=$2 && shift ;;
    --slot) slot=$2 && shift ;;
    --append) append=$2 && shift ;;
    --clock) clock=$2 && shift ;;
    --no-oem) oem='' ;;
    --oem) oem_disk=$2 && shift ;;
    --fault) fault=$2 && shift ;;
    --record) record=$2 && shift ;;
    --write-protected) protection=on ;;
    --) shift && break ;;
    *)
        echo "run: there is no option $1" >&2
        exit 2
        ;;
    esac
    shift
done
images=${images:-${CARGO_TARGET_DIR:-target}/boards/$board}

disks=()
disk() { # NAME FILE READONLY
    if [ "${fault%%:*}" = "$1" ]; then
        faulty_disk "$@"
        return
    fi
    disks+=(-drive "if=none,id=$1,format=raw,file=$2,readonly=$3" -device "virtio-blk-device,drive=$1,serial=$1")
}
faulty_disk() { # NAME FILE READONLY
    local kind sectors once rule sector rules=()
    IFS=: read -r _ kind sectors once <<<"$fault"
    rule="\"event\":\"none\",\"errno\":5,\"iotype\":\"$kind\""
    if [ -n "$once" ]; then rule+=',"once":true'; fi
    for sector in ${sectors//,/ }; do rules+=("{$rule,\"sector\":$sector}"); done
    disks+=(-blockdev "driver=file,filename=$2,node-name=$1-file,read-only=$3")
    disks+=(-blockdev "driver=raw,file=$1-file,node-name=$1-raw,read-only=$3")
    disks+=(-blockdev "{\"driver\":\"blkdebug\",\"node-name\":\"$1\",\"image\":\"$1-raw\",$(
        [ "$3" = off ] || echo '"read-only":true,'
    )\"inject-error\":[$(IFS=, && echo "${rules[*]}")]}")
    disks+=(-device "virtio-blk-device,drive=$1,serial=$1,werror=report,rerror=report")
}
recorded_disk() { # NAME FILE LOG
    disks+=(-blockdev "driver=file,filename=$2,node-name=file" -blockdev "driver=raw,file=file,node-name=raw")
    disks+=(-blockdev "driver=file,filename=$3,node-name=log")
    disks+=(-blockdev "driver=blklogwrites,file=raw,log=log,log-sector-size=512,node-name=recorded")
    disks+=(-device "virtio-blk-device,drive=recorded,serial=$1,write-cache=on")
}
userdata=${userdata:-$images/userdata.img}
if [ -n "$record" ]; then
    : >"$record"
    recorded_disk userdata "$userdata" "$record"
else
    disk userdata "$userdata" "$protection"
fi
disk tools "$images/tools.img" on
if [ -n "$oem" ]; then
    for one in a b; do
        if [ "$one" = "$slot" ] && [ -n "$oem_disk" ]; then
            disk "oem_$one" "$oem_disk" on
        else
            disk "oem_$one" "$images/oem_$one.img" on
        fi
    done
fi

# Written to in each run, and the same at each start.
if [ "$board" = systemd ]; then
    disks+=(-drive "if=none,id=root,format=raw,file=$images/root.img,snapshot=on")
    disks+=(-device "virtio-blk-device,drive=root,serial=root")
fi

case $board in
armv7) machine=(qemu-system-arm -cpu cortex-a7) ;;
aarch64 | systemd) machine=(qemu-system-aarch64 -cpu cortex-a53) ;;
*)
    echo "run: there is no board $board: armv7, aarch64 or systemd" >&2
    exit 2
    ;;
esac
exec "${machine[@]}" -M virt -smp 1 -m 256 -nodefaults -display none -no-reboot -rtc "base=$clock" \
    -serial mon:stdio -kernel "$images/kernel" -initrd "$images/initrd" \
    -append "console=ttyAMA0 quiet panic=-1 aiden.slot_suffix=_$slot $append" "${disks[@]}" "$@"
