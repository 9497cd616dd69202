#!/bin/bash
# fuzz.sh RUNS [SECONDS]: builds the fuzz targets and gives each at most RUNS inputs, for at most SECONDS.
#
# The targets have the shape of cargo-fuzz, but need neither it nor a nightly compiler: the flags below ask
# stable Rust for the coverage that libFuzzer steers by. A panic, an input that takes over 10 s, or more than
# 512 MiB of memory is a failure; the input is then left in fuzz/artifacts/<target>/. Found inputs are kept in
# fuzz/corpus/<target>/, beside the committed fuzz/seeds/<target>/.
set -euo pipefail

runs=${1:?how many inputs}
seconds=${2:-0}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

targets=(frontmatter ledger merge tools)
host=$(rustc -vV | sed -n 's/^host: //p')
flags=(
    --cfg fuzzing
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
)
build=${CARGO_TARGET_DIR:+$CARGO_TARGET_DIR/fuzz}
build=${build:-fuzz/target}
# --target keeps the flags away from build scripts, which have no fuzzer to report to.
CARGO_TARGET_DIR=$build RUSTFLAGS=${flags[*]} \
    cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target "$host"

fuzz_one() {
    local target=$1 log=$2
    mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
    mkdir "$log.tmp"
    TMPDIR=$log.tmp "$build/$host/release/$target" \
        -runs="$runs" -max_total_time="$seconds" -rss_limit_mb=512 -timeout=10 -max_len=70000 \
        -print_final_stats=1 -artifact_prefix="fuzz/artifacts/$target/" \
        "fuzz/corpus/$target" "fuzz/seeds/$target" >"$log" 2>&1
}

# In memory, for what a target writes there.
logs=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$logs"' EXIT
pids=()
for target in "${targets[@]}"; do
    fuzz_one "$target" "$logs/$target" &
    pids+=($!)
done
failed=0
for index in "${!targets[@]}"; do
    target=${targets[index]}
    if wait "${pids[index]}"; then
        sed -n "s/^Done \(.*\)/fuzz $target: \1/p; s/^stat::peak_rss_mb: *\(.*\)/fuzz $target: peak \1 MiB/p" \
            "$logs/$target"
    else
        failed=1
        printf 'fuzz %s FAILED:\n' "$target" >&2
        tail -n 60 "$logs/$target" >&2
    fi
done
exit "$failed"
