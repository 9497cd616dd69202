#!/bin/bash
# sources.sh: the files that the recipe takes from the checkout are all that it needs: the program builds from them
# alone, and its boot files install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

recipes=packaging/yocto/meta-aiden-skills/recipes-support/aiden-skills
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/source"
sed -n 's|^ *file://\([^;]*\);.*|\1|p' "$recipes"/aiden-skills_*.bb | xargs cp -R --parents -t "$scratch/source"

target=$(realpath "${CARGO_TARGET_DIR:-target}")
(cd "$scratch/source" && CARGO_TARGET_DIR=$target/yocto AIDEN_REVISION=none "${CARGO:-cargo}" check --quiet --locked --bins)
DESTDIR=$scratch/image INIT="sysv systemd" "$scratch/source/packaging/install.sh" init
