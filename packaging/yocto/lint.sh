#!/bin/bash
# lint.sh: holds the layer to the rules of OpenEmbedded. Takes oelint-adv from PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/meta-aiden-skills"

../crates.py --check

known=$(mktemp)
trap 'rm -f "$known"' EXIT
cat >"$known" <<'END'
{"variables": {"known": ["AIDEN_REVISION", "AIDEN_SKILLS_SOURCE", "VIRTUAL-RUNTIME_aiden-skills-bundle"]}}
END

# homepageping                 asks the network
# inconspaces                  the list of crates is what `bitbake -c update_crates` writes
# fileextrapaths, outofcontext the source is the checkout around the layer, not below the recipe
# srcurifile                   the crates come after the source, from a file that is generated
options=(--quiet --hide info "--constantmods=+$known")
for rule in homepageping inconspaces fileextrapaths outofcontext srcurifile; do
    options+=(--suppress "oelint.vars.$rule")
done

mapfile -t files < <(find . -name '*.bb' -o -name '*.bbclass' -o -name '*.inc' -o -name layer.conf)
for release in whinlatter wrynose blacksail; do
    oelint-adv "${options[@]}" --release "$release" "${files[@]}"
done
