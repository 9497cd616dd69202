#!/bin/bash
# demo.sh PROGRAM: a firmware's life in a scratch directory, told by the program itself.
#
# Shows each command before it runs it, and what the program says. Every claim that is printed with a check mark was
# checked; the first that does not hold ends the demo with an error.
set -euo pipefail

program=$(realpath "${1:?name the program: demo.sh target/release/aiden-skills}")
bundle=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../oem-skills")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
else
    bold='' dim='' plain=''
fi

# What the boot script of a board has in its environment.
export AIDEN_CONFIG_DIR=userdata/agent AIDEN_BUNDLED_SKILLS_DIR=slot-a
library=$AIDEN_CONFIG_DIR/skills
state=$AIDEN_CONFIG_DIR/skill-state
unset AIDEN_DEVICE_TYPE AIDEN_TOOLS_FILE AIDEN_MERGE_ENGINE

chapter() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
tell() { printf '%s\n' "$*"; }

# run CODE COMMAND...: shows a command and what it says, and expects this exit code.
said=''
run() {
    local wanted=$1 code=0
    shift
    printf '%s$ %s%s\n' "$bold" "$*" "$plain"
    said=$("$@" 2>&1) || code=$?
    if [ -n "$said" ]; then
        printf '%s\n' "$said" | sed "s/^/  /"
    fi
    if [ "$code" != "$wanted" ]; then
        printf 'demo: exit code %s instead of %s\n' "$code" "$wanted" >&2
        exit 1
    fi
}

# The program under its name, as it is typed on a board.
aiden-skills() { "$program" "$@"; }

# claim TEXT COMMAND...: the command must succeed.
claim() {
    local text=$1
    shift
    if ! "$@"; then
        printf 'demo: this is not so: %s\n' "$text" >&2
        exit 1
    fi
    printf '%s  \u2713 %s%s\n' "$dim" "$text" "$plain"
}

no() { ! "$@"; }
says() { grep -qF -- "$1" <<<"$said"; }
has_line() { grep -qF -- "$2" "$1"; }
same_tree() { diff -r "$1" "$2" >/dev/null; }
flushes() { [ "$(aiden-skills --json sync | sed -n 's/^ *"flushes": \([0-9]*\).*/\1/p')" = "$1" ]; }

# The n-th cut comes n milliseconds after the start; succeeds when the sync was faster.
cut_after() {
    local delay
    delay=$(printf '0.%03d' $(($1 + 1)))
    { timeout --signal=KILL "$delay" "$program" -q sync || [ $? != 137 ]; } 2>/dev/null
}

old_or_new() {
    local path name
    for path in slot-a/*/SKILL.md; do
        name=${path#slot-a/}
        cmp -s "slot-a/$name" "$library/$name" || cmp -s "slot-b/$name" "$library/$name" || return 1
    done
}

nothing_staged() { [ -z "$(find "$state/tmp" -type f 2>/dev/null)" ]; }

# Slot A has the bundle of this repository; slot B will get a later one.
mkdir -p userdata/agent
cp -r "$bundle" slot-a

chapter "First boot: the library is empty, the firmware's skills are seeded"
run 0 aiden-skills sync
claim "the library is the bundle, file by file" same_tree slot-a $library
claim "nothing is left in the temporary directory" nothing_staged

chapter "Second boot: nothing to do"
run 0 aiden-skills sync
claim "says that all is up to date" says "All built-in skills are up to date."
claim "flash was not touched: no flush" flushes 0

chapter "The user makes it theirs"
tell "  planner gets another rule, research a file of its own, app-login is deleted."
sed -i 's/^# Planner/# My planner/' $library/planner/SKILL.md
printf '\nNever plan more than three steps ahead.\n' >>$library/planner/SKILL.md
printf '# Sources I trust\n' >$library/research/references/my-sources.md
rm -r $library/app-login
run 0 aiden-skills sync
claim "the edit stays" says "planner has been modified by user, continuing with user version."
claim "the deletion stays" says "app-login was deleted by user"
cp -r userdata edited

chapter "A firmware update arrives in slot B"
cp -r slot-a slot-b
printf '\nSay which sources you could not open.\n' >>slot-b/research/SKILL.md
sed -i 's/^    - screenshot$/&\n    - press_key/; s/^Skip it for one obvious action.*/& Or for two./' slot-b/planner/SKILL.md
printf '\nAsk again when the total changed.\n' >>slot-b/payment-confirm/references/merchant-checklist.md
printf '\nUse the password manager of the device.\n' >>slot-b/app-login/SKILL.md
mkdir slot-b/shopping-list
cat >slot-b/shopping-list/SKILL.md <<'SKILL'
---
name: shopping-list
description: Keep the user's shopping list. Use when something is to be bought later.
---

# Shopping list

Add what is missing; never remove what the user wrote.
SKILL
tell "  research, planner and app-login have new texts, payment-confirm a changed file, shopping-list is new."
export AIDEN_BUNDLED_SKILLS_DIR=slot-b
run 0 aiden-skills sync --dry-run
run 0 aiden-skills sync -v
claim "the unedited skill is the new one" cmp -s slot-b/research/SKILL.md $library/research/SKILL.md
claim "the user's file beside it is still there" has_line $library/research/references/my-sources.md "Sources I trust"
claim "the changed supporting file is the new one" same_tree slot-b/payment-confirm $library/payment-confirm
claim "the new skill is there" same_tree slot-b/shopping-list $library/shopping-list
claim "the edited skill waits for its merge, untouched" cmp -s edited/agent/skills/planner/SKILL.md $library/planner/SKILL.md
claim "and that is said" says "planner has both built-in updates and user modifications"
claim "the deleted skill did not come back" no test -e $library/app-login

chapter "What is what?"
run 0 aiden-skills status
claim "the table names the skill to be merged" says "merge_needed"
run 0 aiden-skills diff planner
claim "the user's line is in the difference" says "+Never plan more than three steps ahead."
run 0 aiden-skills diff planner --base

chapter "Both sides changed planner: it is merged, without a model"
cp -r userdata merging
run 0 aiden-skills diff planner --preview
claim "the firmware's tool would come" says "+    - press_key"
run 0 aiden-skills merge
claim "it is merged" says "planner background merge completed, built-in updates applied."
claim "the firmware's changes are in it" has_line $library/planner/SKILL.md "    - press_key"
claim "and so is the user's rule" has_line $library/planner/SKILL.md "Never plan more than three steps ahead"
run 0 aiden-skills merge
claim "there is nothing left to merge" says "All built-in skills are up to date."
tell "  Let this not have happened:"
rm -r userdata && mv merging userdata

chapter "Slot B does not start; the board falls back to slot A"
export AIDEN_BUNDLED_SKILLS_DIR=slot-a
run 0 aiden-skills sync -v
claim "the unedited skill went back with it" cmp -s slot-a/research/SKILL.md $library/research/SKILL.md
claim "the edited skill is still the user's" cmp -s edited/agent/skills/planner/SKILL.md $library/planner/SKILL.md
claim "the new skill stays, though slot A does not have it" says "shopping-list is not built in any more"
export AIDEN_BUNDLED_SKILLS_DIR=slot-b
tell "  ... and forward again:"
run 0 aiden-skills sync
claim "the new skill is taken up again" same_tree slot-b/shopping-list $library/shopping-list
claim "the unedited skill is the new one again" cmp -s slot-b/research/SKILL.md $library/research/SKILL.md

chapter "The user wants the shipped planner back, and the deleted skill too"
run 2 aiden-skills reset planner
claim "it says what is missing" says "--restore"
run 0 aiden-skills reset planner app-login --restore
claim "planner is as shipped" same_tree slot-b/planner $library/planner
claim "app-login is back" same_tree slot-b/app-login $library/app-login
run 0 aiden-skills sync

chapter "The process is killed in the middle"
tell "  A file that another program was writing is empty now:"
: >$library/ui-operator/SKILL.md
run 0 aiden-skills sync -v
claim "an empty file is taken for a cut, not for an edit" cmp -s slot-b/ui-operator/SKILL.md $library/ui-operator/SKILL.md
tell "  A ledger of which only half reached the flash:"
head -c 700 $state/.bundled_manifest.json >half && mv half $state/.bundled_manifest.json
run 3 aiden-skills sync
claim "the skills are as they were" cmp -s slot-b/planner/SKILL.md $library/planner/SKILL.md
claim "the damaged ledger is kept for people to look at" test -e $state/.bundled_manifest.json.corrupt-1
run 0 aiden-skills sync
tell "  Back to slot A, and the program is killed in the middle of it, as a power cut would, a little later each time, until one sync gets through:"
export AIDEN_BUNDLED_SKILLS_DIR=slot-a
cuts=0 torn=0
until cut_after "$cuts"; do
    cuts=$((cuts + 1))
    old_or_new || torn=$((torn + 1))
done
claim "after each of $cuts cuts every text was the old or the new one, none was torn" [ "$torn" = 0 ]
run 0 aiden-skills sync
mv $library/shopping-list $library/research/references/my-sources.md .
claim "the library is slot A's bundle, whole" same_tree slot-a $library
claim "nothing is left in the temporary directory" nothing_staged
mv shopping-list $library/ && mv my-sources.md $library/research/references/

chapter "Is everything as it should be?"
run 3 aiden-skills doctor
claim "it names the damaged ledger that was kept" says ".bundled_manifest.json.corrupt-1"
rm $state/.bundled_manifest.json.corrupt-1
run 0 aiden-skills doctor

chapter "All of this was checked; the scratch directory is removed now"
