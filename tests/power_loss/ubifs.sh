#!/bin/sh
# ubifs.sh LAB: runs on the board. Cuts the power of a UBIFS on emulated NAND again and again while the program
# works on it, as LAB/plan says, a cut a line:
#
#   NUMBER KIND POINT NEXT OPERATION
#
# LAB/OPERATION.tar is the config dir before it, LAB/OPERATION.command the bundle's slot and the program's arguments.
# KIND is how the power is cut, and POINT when:
#
#   block   UBI goes dead when it begins its POINTth block (writes an erase counter or a volume header)
#   write   UBIFS tears a write and goes dead, at random: with one chance in twenty in most writes, or after a while
#   call    the program is killed at its call POINT/1000 of those that change something, and UBIFS goes dead: nothing
#           comes to the flash any more that waits in the caches
#
# After each, NUMBER.left.tar is what recovery leaves, NUMBER.settled.tar what the sync of slot NEXT makes of it,
# NUMBER.again.tar what one more makes of that; NUMBER.operation.json, .settled.json and .again.json are what was
# reported, NUMBER.unreadable what can't be read of the trees, and NUMBER.said has the exit code of the operation,
# whether there was a cut, and the exit codes of both syncs. LAB/calls.OPERATION lists an undisturbed run's calls.
lab=$1
flash=/run/flash
agent=$flash/agent
changing=openat,write,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,chmod,fchmod,fchmodat,fchown,fchown32,fsync,fdatasync,syncfs

die() {
	echo "ubifs: $*" >&2
	exit 1
}

on() { # SLOT ARGUMENT…
	slot=$1
	shift
	aiden-skills --config-dir "$agent" --bundled-dir "/run/oem_$slot/usr/share/aiden/skills" --json "$@"
}

under_strace() { # STRACE-OPTIONS SLOT ARGUMENT…
	options=$1 slot=$2
	shift 2
	# Without --seccomp-bpf, under which this strace injects nothing.
	# shellcheck disable=SC2086 # words
	board-tool strace -f -e "trace=$changing" $options /usr/bin/aiden-skills --config-dir "$agent" \
		--bundled-dir "/run/oem_$slot/usr/share/aiden/skills" --json "$@"
}

attach() {
	board-tool ubiattach -m 0 /dev/ubi_ctrl >/dev/null || die "no UBI"
}

mount_flash() {
	mount -t ubifs ubi0:data "$flash" || die "no UBIFS: $(dmesg | tail -n 20)"
}

again_from_flash() {
	umount "$flash" || die "$flash is in use"
	board-tool ubidetach -d 0 /dev/ubi_ctrl || die "UBI is in use"
	attach
	mount_flash
}

before() {
	rm -rf "$agent"
	tar -xf "$lab/$operation.tar" -C "$flash" && sync -f "$flash" && return
	die "$operation can't be laid out"
}

keep() { # WHAT
	tar -cf "$lab/$number.$1.tar" -C "$flash" agent 2>>"$lab/$number.unreadable"
}

is_dead() {
	! { touch "$flash/probe" && sync "$flash/probe"; } 2>/dev/null
}

# The system call of a number in the undisturbed run, as strace wants it: NAME:when=HOW-MANIETH
nth_call() { # NUMBER
	awk -v nth="$1" '{ sub(/^[0-9]+ +/, ""); sub(/\(.*/, ""); count[$0]++ } NR == nth { print $0, count[$0]; exit }' \
		"$lab/calls.$operation"
}

cut_by_block() {
	debug=/sys/kernel/debug/ubi/ubi0/tst_emulate_power_cut
	echo "$point" >"${debug}_min"
	echo "$point" >"${debug}_max"
	echo 3 >"$debug"
	on "$@"
}

# UBIFS draws at its first write, and one in two draws is a time too long to wait for.
arm_writes() {
	while :; do
		dmesg -c >/dev/null
		echo 1 >/sys/kernel/debug/ubifs/ubi0_0/tst_recovery
		is_dead
		dmesg | grep -q 'failing after' || return 0
		remount
	done
}

remount() {
	umount "$flash"
	mount_flash
	before
}

cut_by_write() {
	attempts=12
	while arm_writes; do
		on "$@" >"$lab/$number.operation.json"
		code=$?
		attempts=$((attempts - 1))
		if [ "$attempts" = 0 ] || is_dead; then return "$code"; fi
		remount
	done
}

cut_by_call() {
	total=$(wc -l <"$lab/calls.$operation")
	call=$(nth_call $((point * (total + 1) / 1000 + 1)))
	if [ -n "$call" ]; then
		under_strace "-o /dev/null -e inject=${call% *}:signal=SIGKILL:when=${call#* }" "$@"
	else
		on "$@"
	fi
	code=$?
	echo 1 >/sys/kernel/debug/ubifs/ubi0_0/ro_error
	return "$code"
}

# Cuts, recovers, and keeps what comes of it.
cut() {
	read -r command <"$lab/$operation.command"
	before
	# shellcheck disable=SC2086 # words
	"cut_by_$kind" $command >"$lab/$number.operation.json" 2>"$lab/$number.operation.err"
	code=$?
	dead=no
	if is_dead; then dead=yes; fi
	again_from_flash
	rm -f "$flash/probe"
	keep left
	on "$next" sync >"$lab/$number.settled.json" 2>"$lab/$number.settled.err"
	settled=$?
	keep settled
	on "$next" sync >"$lab/$number.again.json" 2>"$lab/$number.again.err"
	again=$?
	keep again
	echo "$code $dead $settled $again" >"$lab/$number.said"
}

dmesg -n 1
mkdir -p "$flash" /run/oem_a /run/oem_b
mount -t debugfs debugfs /sys/kernel/debug
for slot in a b; do mount -t squashfs -o ro "$(board-disk oem_$slot)" /run/oem_$slot || die "no bundle of slot $slot"; done
# 32 MiB, in blocks of 16 KiB.
mount -t squashfs -o ro "$(board-disk tools)" /tools
insmod /tools/modules/nandsim.ko id_bytes=0x20,0x35
board-modules nandsim
attach
board-tool ubimkvol /dev/ubi0 -N data -m >/dev/null || die "no volume"
mount_flash
for command in "$lab"/*.command; do
	operation=${command##*/}
	operation=${operation%.command}
	read -r command <"$lab/$operation.command"
	before
	# shellcheck disable=SC2086 # words
	under_strace "-o /run/calls" $command >/dev/null 2>&1
	grep -v '+++' /run/calls >"$lab/calls.$operation"
done
while read -r number kind point next operation; do
	cut
done <"$lab/plan"
umount "$flash"
