#!/bin/bash
# boot.sh BOARD [OPTION…]: builds a virtual board if there is none yet and starts it with a console on this terminal.
# Its /userdata stays from one start to the next; the options are those of run.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}

board=${1:?armv7, aarch64 or systemd}
[ -e "$CARGO_TARGET_DIR/boards/$board/userdata.img" ] || board/qemu/image.sh "$board"
echo "Shut down: poweroff. Cut the power: Ctrl-A X."
exec board/qemu/run.sh "$@"
