#!/bin/bash
# run.sh PROGRAM OUTPUT: tries the program with clients that others have written: the Python SDK and the inspector of the
# Model Context Protocol, curl, Prometheus' parser, and Chromium, whose screenshots go to OUTPUT.
set -euo pipefail
cache=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}/clients
AIDEN_PROGRAM=$(realpath "$1")
AIDEN_OUTPUT=$(realpath -m "$2")
AIDEN_INSPECTOR="$cache/node_modules/.bin/node $cache/node_modules/.bin/mcp-inspector"
export AIDEN_PROGRAM AIDEN_OUTPUT AIDEN_INSPECTOR PYTHONDONTWRITEBYTECODE=1
# The inspector starts other parts of itself by this name.
PATH=$cache/node_modules/.bin:$PATH
cd "$(dirname "${BASH_SOURCE[0]}")"
exec "$cache/venv/bin/python" -m unittest discover --verbose
