#!/bin/bash
# hil.sh [FILTER…]: builds the virtual boards and runs tests/qemu on them (those whose name has FILTER in it).
# Takes the programs that `make cross` has built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}

# Apart from the boards of boot.sh, whose /userdata is a person's.
boards=$(realpath -m "$CARGO_TARGET_DIR/hil")
for board in armv7 aarch64 systemd; do board/qemu/image.sh "$board" "$boards/$board"; done
log=$(mktemp)
trap 'rm -f "$log"' EXIT
AIDEN_BOARDS=$boards cargo test --locked --test qemu -- --show-output --test-threads 2 "$@" | tee "$log"
grep -q '^test result: ok. [1-9]' "$log" || {
    echo "hil: no scenario has such a name: $*" >&2
    exit 1
}
