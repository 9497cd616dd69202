#!/bin/bash
# deny.sh [CHECK…]: holds the crates to deny.toml. By default what needs no network once the crates are there;
# `deny.sh advisories` asks the advisory database.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}
deny=$cache/cargo-tools/bin/cargo-deny
[ -x "$deny" ] || { echo "deny: cargo-deny is missing: run make install-tools" >&2; exit 1; }

if [ $# = 0 ]; then set -- licenses bans sources; fi
exec "$deny" --locked check --hide-inclusion-graph "$@"
