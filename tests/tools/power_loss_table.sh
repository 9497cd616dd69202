#!/bin/bash
# power_loss_table.sh ROWS [DOCUMENT]: prints what tests of power loss have tried, from their rows (OPERATION | MEDIUM |
# STATES | VIOLATIONS | BORNE), as one table in Markdown: a cell is the number of states, and of violations and of states
# that are borne for what their medium is, where there are any.
# With DOCUMENT, its table must have the same operations and media, so that it does not tell of another ladder.
set -euo pipefail

rows=${1:?the rows of the tests}
document=${2:-}
[ -s "$rows" ] || {
    echo "power_loss_table: $rows has no rows" >&2
    exit 1
}

table() {
    awk -F ' [|] ' '
        { sub(/^power-loss: /, "") }
        /^mutant / { next }
        { states[$1, $2] += $3; violations[$1, $2] += $4; borne[$1, $2] += $5; all += $3; bad += $4; endured += $5 }
        !seen_operation[$1]++ { operations[++rows] = $1 }
        !seen_medium[$2]++ { media[++columns] = $2 }
        END {
            sort(operations, rows)
            sort(media, columns)
            line = "| operation |"; rule = "| --- |"
            for (c = 1; c <= columns; c++) { line = line " " media[c] " |"; rule = rule " ---: |" }
            print line; print rule
            for (r = 1; r <= rows; r++) {
                line = "| " operations[r] " |"
                for (c = 1; c <= columns; c++) {
                    key = operations[r] SUBSEP media[c]
                    cell = (key in states) ? states[key] : ""
                    if (violations[key] > 0) cell = cell " (" violations[key] " bad)"
                    if (borne[key] > 0) cell = cell " (" borne[key] " borne)"
                    line = line " " cell " |"
                }
                print line
            }
            printf "\n%d states, %d violations, %d borne\n", all, bad, endured
            exit bad > 0
        }
        function sort(list, count,   i, j, held) {
            for (i = 2; i <= count; i++) {
                held = list[i]
                for (j = i - 1; j > 0 && list[j] > held; j--) list[j + 1] = list[j]
                list[j + 1] = held
            }
        }' "$rows"
}

# Names without numbers, of the table that begins with operations.
names() {
    awk '/^[|] operation [|]/ { on = 1 } on && !/^[|]/ { exit } on' | sed -E ':again; s/[|] [0-9]+( \([0-9]+ (bad|borne)\))* [|]/| N |/; t again'
}

table
if [ -n "$document" ]; then
    diff <(names <"$document") <(table | names) >&2 || {
        echo "power_loss_table: the table of $document is of other tests; put the one above there" >&2
        exit 1
    }
fi
