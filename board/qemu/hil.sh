#!/bin/bash
# hil.sh [FILTER…]: builds the virtual boards and runs tests/qemu on them (those whose name has FILTER in it).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}

for board in armv7 aarch64 systemd; do board/qemu/image.sh "$board"; done
AIDEN_BOARDS=$(realpath "$CARGO_TARGET_DIR/boards") \
    cargo test --locked --test qemu -- --show-output --test-threads 2 "$@"
