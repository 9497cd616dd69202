#!/bin/bash
# All that CI runs, once everything is installed: `make test` calls it after tests/tools/install.sh. Stops at the first
# kind of check that fails; of the tests, all are run. The last line sums them up.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fuzz_inputs=100000
fuzz_seconds=30

started=$SECONDS
step() { printf '\n=== %s (after %d s)\n' "$*" $((SECONDS - started)); }

scripts=(.ci/run examples/*.sh tests/tools/*.sh)
target=${CARGO_TARGET_DIR:-target}

step "format"
cargo fmt --check
cargo fmt --check --manifest-path fuzz/Cargo.toml

step "scripts"
shellcheck "${scripts[@]}"

step "clippy"
cargo clippy --locked --all-targets -- -D warnings

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

step "fuzzing"
tests/tools/fuzz.sh "$fuzz_inputs" "$fuzz_seconds"

step "man pages and completions"
cargo run --quiet --locked --example generate -- "$target/assets"
for file in man/man1/aiden-skills.1 man/man1/aiden-skills-sync.1 completions/aiden-skills completions/_aiden-skills \
    completions/aiden-skills.fish; do
    [ -s "$target/assets/$file" ] || { printf 'test: %s was not made\n' "$file" >&2; exit 1; }
done
bash -n "$target/assets/completions/aiden-skills"

step "demo"
cargo build --quiet --locked
demo=$(bash examples/demo.sh "$target/debug/aiden-skills" 2>&1) || { printf '%s\n' "$demo"; exit 1; }

step "tests"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
# The documentation's first, so that the run ends with tests even if there are none in it.
cargo test --locked --doc 2>&1 | tee "$log" || failed=1
cargo test --locked --lib --bins --tests --no-fail-fast 2>&1 | tee -a "$log" || failed=1

step "done"
awk '/^test result: / { passed += $4; failed += $6 } END { printf "%d passed, %d failed\n", passed, failed }' "$log"
exit "$failed"
