#!/bin/bash
# power-loss.sh [FILTER…]: builds the virtual boards, and a program with faults on purpose, and runs tests/power_loss
# (those whose name has FILTER in it). Takes the programs that `make cross` has built.
#
#   AIDEN_SOAK=N                  N times as much by chance
#   AIDEN_POWER_LOSS_SEED=N       the chance of an earlier run
#   AIDEN_POWER_LOSS_KEPT=DIR     the recordings that a failed run has kept, in place of new ones
#   AIDEN_POWER_LOSS_TABLE=FILE   what was tried is appended to FILE too, a line for each operation and file system
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}
states_of_a_whole_run=2000

boards=$(realpath -m "$CARGO_TARGET_DIR/power-loss")
target=aarch64-unknown-linux-musl
log=$(mktemp)
root=$(mktemp -d)
trap 'rm -rf "$log" "$root"' EXIT

# In a directory of its own, lest it be taken for a release; that begins with what the release is made of, so that only
# the program itself is compiled.
with_faults() {
    local place=$CARGO_TARGET_DIR/mutants
    [ -e "$place/$target" ] || {
        mkdir -p "$place"
        cp -a "$CARGO_TARGET_DIR/$target" "$place/"
    }
    CARGO_TARGET_DIR=$place packaging/cross/build.sh "$target" --features mutants
    cp "$place/$target/release/aiden-skills" "$root/"
    mksquashfs "$root" "$boards/mutants.img" -all-root -noappend -no-progress -quiet >/dev/null
}

for board in armv7 aarch64; do board/qemu/image.sh "$board" "$boards/$board"; done
with_faults
AIDEN_BOARDS=$boards cargo test --locked --test power_loss -- --show-output --test-threads 2 "$@" | tee "$log"
grep -q '^test result: ok. [1-9]' "$log" || {
    echo "power-loss: no test has such a name: $*" >&2
    exit 1
}
states=$(awk -F ' *[|] *' '/^power-loss: .*[|]/ && !/: mutant / { states += $3 } END { print states + 0 }' "$log")
echo "power-loss: $states states in all"
[ $# -gt 0 ] || [ "$states" -ge "$states_of_a_whole_run" ] || {
    echo "power-loss: a whole run has $states_of_a_whole_run at least" >&2
    exit 1
}
