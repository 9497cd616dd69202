#!/bin/bash
# All that CI runs, once everything is installed: `make test` calls it after tests/tools/install.sh. Two lanes at once,
# for many steps keep one core busy only: `programs` and then `boards` make the boards' programs and what is made of them,
# `machine` and then `power` do everything else. Each runs to its end or its first fault; what they print comes lane by
# lane. The last line sums the tests up. `test.sh LANE` runs one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fuzz_inputs=100000
fuzz_seconds=30
targets=(aarch64-unknown-linux-musl armv7-unknown-linux-musleabihf)
# One compiler for both, whatever rustup has; so one of them built again is enough.
export AIDEN_CROSS_ROUTE=source
reproduced=armv7-unknown-linux-musleabihf

export PATH=$PATH:${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}/venv/bin
target=${CARGO_TARGET_DIR:-target}
started=$SECONDS
step() { printf '\n=== %s (after %d s)\n' "$*" $((SECONDS - started)); }

scripts() {
    shellcheck .ci/run examples/*.sh tests/tools/*.sh tests/clients/*.sh packaging/*.sh packaging/*/*.sh packaging/deb/scripts/* \
        board/libexec/* board/init.d/* board/qemu/*.sh board/qemu/rootfs/init board/qemu/rootfs/etc/init.d/* \
        board/qemu/rootfs/usr/bin/* board/qemu/systemd/initrd-init tests/power_loss/*.sh
}

# The units name what is installed, so they are looked at where it is.
units() {
    local root said
    root=$(mktemp -d)
    PREFIX=$root/usr SYSCONFDIR=$root/etc UNIT_DIR=$root/units BINARY=$target/debug/aiden-skills \
        packaging/install.sh program init
    # Of a directive that it does not know it only warns.
    said=$(systemd-analyze verify --man=no "$root"/units/* 2>&1) || said+=" (exit $?)"
    if [ -n "$said" ]; then
        printf '%s\n' "$said" >&2
        return 1
    fi
    for unit in "$root"/units/*.service; do
        systemd-analyze security --offline=yes --threshold=30 --no-pager "$unit" | tail -n 1
    done
    rm -rf "$root"
}

documents() {
    cargo run --quiet --locked --example generate -- "$target/assets"
    for file in man/man1/aiden-skills.1 man/man1/aiden-skills-sync.1 completions/aiden-skills completions/_aiden-skills \
        completions/aiden-skills.fish; do
        [ -s "$target/assets/$file" ] || { printf 'test: %s was not made\n' "$file" >&2; return 1; }
    done
    bash -n "$target/assets/completions/aiden-skills"
}

lane_of_this_machine() {
    step "format"
    cargo fmt --check
    cargo fmt --check --manifest-path fuzz/Cargo.toml
    step "scripts"
    scripts
    step "clippy"
    cargo clippy --locked --all-targets -- -D warnings
    cargo clippy --locked --test qemu --test power_loss -- -D warnings
    cargo clippy --locked --features mutants --test faults -- -D warnings
    step "documentation"
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
    step "demo"
    cargo build --quiet --locked
    demo=$(bash examples/demo.sh "$target/debug/aiden-skills" 2>&1) || { printf '%s\n' "$demo"; return 1; }
    step "systemd units"
    units
    step "Yocto layer"
    packaging/yocto/lint.sh
    packaging/yocto/sources.sh
    step "tests"
    # The documentation's too.
    cargo test --locked --doc
    cargo test --locked --lib --bins --tests --no-fail-fast
    step "clients that others have written"
    tests/clients/run.sh "$target/debug/aiden-skills" "$target/screenshots"
    step "tests of programs with a fault on purpose"
    cargo test --locked --features mutants --test faults mutants
    step "how many merges of real histories need no model"
    cargo bench --locked --bench histories
    step "how often skill_list finds the skill"
    cargo bench --locked --bench recall
    step "how often guidance is about the task"
    cargo bench --locked --bench guidance
    step "fuzzing"
    tests/tools/fuzz.sh "$fuzz_inputs" "$fuzz_seconds"
}

lane_of_programs() {
    step "programs for the boards"
    for one in "${targets[@]}"; do packaging/cross/build.sh "$one"; done
    step "man pages and completions"
    documents
    step "program for this machine"
    cargo build --quiet --locked --release
}

lane_of_the_boards() {
    step "virtual boards"
    board/qemu/hil.sh
    step "what a release hands out"
    tests/tools/dist_check.sh "${targets[@]}"
    step "reproducible build"
    packaging/cross/reproducible.sh "$reproduced"
}

lane_of_power() {
    step "power loss"
    board/qemu/power-loss.sh
}

case ${1:-} in
machine)
    lane_of_this_machine
    exit
    ;;
programs)
    lane_of_programs
    exit
    ;;
boards)
    lane_of_the_boards
    exit
    ;;
power)
    lane_of_power
    exit
    ;;
esac

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
AIDEN_POWER_LOSS_TABLE=$logs/rows
export AIDEN_POWER_LOSS_TABLE
failed=0
declare -A running
start() { # LANE
    tests/tools/test.sh "$1" >"$logs/$1.log" 2>&1 </dev/null &
    running[$1]=$!
}
ended() { # LANE
    local code=0
    wait "${running[$1]}" || code=$?
    printf '\n##### lane %s\n' "$1"
    cat "$logs/$1.log"
    if [ "$code" != 0 ]; then
        printf '\n##### lane %s FAILED (%d)\n' "$1" "$code"
        failed=1
    fi
}
start machine
start programs
ended programs
start boards
ended machine
start power
ended boards
ended power

step "what was tried of power loss"
tests/tools/power_loss_table.sh "$logs/rows" docs/power-loss.md || failed=1
step "done"
awk '/^test result: / { passed += $4; failed += $6 } END { printf "%d passed, %d failed\n", passed, failed }' "$logs"/*.log
exit "$failed"
