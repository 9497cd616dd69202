#!/bin/sh
# check-skill.sh - check skill directories for what reads well and still fails.
#
# usage: sh check-skill.sh DIR...
#
# One line per finding on standard output: DIR: error: ... or DIR: warning: ...
# Exit 0: no errors (warnings allowed), 1: errors, 2: wrong usage.
# Needs a POSIX or BusyBox shell with awk, find, grep, head, sort, tail, tr and wc. Changes nothing.

set -u
LC_ALL=C
export LC_ALL

MAX_SKILL_BYTES=32768
GOOD_SKILL_BYTES=12288
MAX_FILE_BYTES=65536
CATALOGUE_CHARS=160
MAX_DESCRIPTION_CHARS=1024

CR=$(printf '\r')
BOM=$(printf '\357\273\277')

error() { printf '%s: error: %s\n' "$dir" "$1"; }
warning() { printf '%s: warning: %s\n' "$dir" "$1"; }

# Characters, not bytes: the continuation bytes of UTF-8 do not count.
length_of() { printf '%s' "$1" | tr -d '\200-\277' | wc -c | tr -d ' '; }
bytes_of() { wc -c <"$1" | tr -d ' '; }

# The lines between the two fences; fails if there are none.
frontmatter() {
	awk '{ sub(/\r$/, "") }
	     NR == 1 { if ($0 != "---") exit; next }
	     $0 == "---" { closed = 1; exit }
	     { text = text $0 "\n" }
	     END { if (!closed) exit 1; printf "%s", text }' "$1"
}

# What follows the second fence.
body() {
	awk '{ sub(/\r$/, "") } fences >= 2 { print; next } $0 == "---" { fences++ }' "$1"
}

# The value of a top-level key in the frontmatter on standard input, without quotes around it.
value_of() {
	awk -v key="$1" 'index($0, key ":") == 1 {
		v = substr($0, length(key) + 2)
		gsub(/^[ \t]+|[ \t]+$/, "", v)
		if (v ~ /^".*"$/ || v ~ /^\047.*\047$/) v = substr(v, 2, length(v) - 2)
		print v
		exit
	}'
}

check_text() { # FILE LABEL: holds for SKILL.md and for supporting files
	if grep -q "$CR" "$1"; then warning "$2 has CR line ends"; fi
	if [ "$(head -c 3 "$1")" = "$BOM" ]; then error "$2 begins with a byte order mark"; fi
	if [ -s "$1" ] && [ "$(tail -c 1 "$1" | wc -l | tr -d ' ')" = 0 ]; then
		warning "$2 has no newline at its end"
	fi
	if grep -Eq -e '-----BEGIN [A-Z ]*PRIVATE KEY|(^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{30,}|xox[abpr]-[A-Za-z0-9-]{10,}|eyJ[A-Za-z0-9_-]{20,}[.])' "$1"; then
		error "$2 seems to contain a key or token"
	fi
	if grep -Eiq '(^|[^a-z])(password|passcode|passwd|pin|secret|api[_-]?key|token)["'"'"'`]?[ ]*[:=][ ]*["'"'"'`]?([0-9][^ <>]{3,}|[^ <>]+[0-9][^ <>]{3,}|[^ <>]{4,}[0-9])' "$1"; then
		error "$2 seems to contain a password or code"
	fi
	if grep -Eq '(^|[^0-9])[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{1,7}([^0-9]|$)' "$1"; then
		error "$2 seems to contain a card or account number"
	fi
	if grep -Eiq '(^|[^a-z0-9])"?[xy]"?[ ]*[:=][ ]*[0-9]{2,4}([^0-9]|$)' "$1"; then
		error "$2 contains positions in numbers; describe the element instead"
	elif grep -Eq '\([ ]*[0-9]{2,4}[ ]*,[ ]*[0-9]{2,4}[ ]*\)' "$1"; then
		warning "$2 may contain positions in numbers; describe the element instead"
	fi
}

check_frontmatter() { # FILE NAME-OF-DIRECTORY
	if ! front=$(frontmatter "$1") || [ -z "$front" ]; then
		error "SKILL.md has no frontmatter between two lines of ---"
		return
	fi

	name=$(printf '%s\n' "$front" | value_of name)
	if [ -z "$name" ]; then
		error "name is missing"
	elif [ "$name" != "$2" ]; then
		error "name is \"$name\", the directory is \"$2\""
	fi
	if ! printf '%s\n' "$2" | grep -Eq '^[a-z0-9]+(-[a-z0-9]+)*$' || [ "${#2}" -gt 64 ]; then
		error "\"$2\" is not a skill name: a-z, 0-9, single hyphens, at most 64"
	fi

	raw=$(printf '%s\n' "$front" | grep '^description:' | head -n 1)
	raw=${raw#description:}
	text=$(printf '%s\n' "$front" | value_of description)
	case $text in
	'') error "description is missing" ;;
	'|'* | '>'*) warning "description is not on one line" ;;
	esac
	case $raw in
	' "'* | " '"*) ;;
	*': '*) error "description contains a colon and a space without quotes" ;;
	*' #'*) error "description contains \" #\" without quotes; the rest is a comment" ;;
	esac
	chars=$(length_of "$text")
	if [ "$chars" -gt "$MAX_DESCRIPTION_CHARS" ]; then
		error "description has $chars characters, at most $MAX_DESCRIPTION_CHARS"
	elif [ "$chars" -gt "$CATALOGUE_CHARS" ]; then
		warning "description has $chars characters; the catalogue shows $CATALOGUE_CHARS"
	fi

	if printf '%s\n' "$front" | grep -Eq '^[ ]*[a-z_-]+:[ ]*[[{]'; then
		warning "a list is written as [a, b]; write one item a line"
	fi
	if printf '%s\n' "$front" | grep -q "$(printf '\t')"; then
		error "frontmatter contains a tab"
	fi
	if ! body "$1" | grep -q '[^[:space:]]'; then
		error "SKILL.md has no text after the frontmatter"
	fi
}

check_files() { # DIRECTORY: supporting files, and the paths that SKILL.md mentions
	find "$1" -type l | sort | while IFS= read -r path; do
		error "${path#"$1"/} is a link"
	done
	mentioned=$(grep -Eo '(references|templates|scripts|assets)/[A-Za-z0-9._/-]*[A-Za-z0-9]' "$1/SKILL.md" | sort -u)

	find "$1" -type f | sort | while IFS= read -r path; do
		file=${path#"$1"/}
		case $file in
		SKILL.md) continue ;;
		references/* | templates/* | scripts/* | assets/*) ;;
		*)
			error "$file is outside references, templates, scripts and assets"
			continue
			;;
		esac
		if ! printf '%s\n' "$mentioned" | grep -Fqx -e "$file"; then
			error "$file is not mentioned in SKILL.md"
		fi
		case $file in assets/*) continue ;; esac
		if [ "$(bytes_of "$path")" -gt "$MAX_FILE_BYTES" ]; then
			error "$file is larger than $MAX_FILE_BYTES bytes"
		fi
		case $file in
		scripts/*.sh)
			if [ ! -x "$path" ]; then warning "$file is not executable"; fi
			if ! sh -n "$path" 2>/dev/null; then error "$file is not valid shell"; fi
			;;
		*) check_text "$path" "$file" ;;
		esac
	done

	printf '%s\n' "$mentioned" | while IFS= read -r file; do
		if [ -n "$file" ] && [ ! -f "$1/$file" ]; then
			error "SKILL.md mentions $file, which does not exist"
		fi
	done
}

check_skill() { # DIRECTORY as given, without a slash at the end
	if [ ! -d "$1" ]; then
		error "is not a directory"
		return
	fi
	skill=$1/SKILL.md
	if [ ! -f "$skill" ] || [ -L "$skill" ]; then
		error "SKILL.md is missing or is not a regular file"
		return
	fi
	size=$(bytes_of "$skill")
	if [ "$size" -gt "$MAX_SKILL_BYTES" ]; then
		error "SKILL.md has $size bytes, at most $MAX_SKILL_BYTES"
	elif [ "$size" -gt "$GOOD_SKILL_BYTES" ]; then
		warning "SKILL.md has $size bytes; under $GOOD_SKILL_BYTES is better"
	fi
	base=$(cd "$1" && pwd -P)
	check_frontmatter "$skill" "${base##*/}"
	check_text "$skill" SKILL.md
	check_files "$1"
}

case ${1-} in
-h | --help)
	printf 'usage: sh check-skill.sh DIR...\n'
	exit 0
	;;
'' | -*)
	printf 'usage: sh check-skill.sh DIR...\n' >&2
	exit 2
	;;
esac

errors=0
for dir in "$@"; do
	while [ "$dir" != / ] && [ "${dir%/}" != "$dir" ]; do dir=${dir%/}; done
	findings=$(check_skill "$dir")
	if [ -n "$findings" ]; then
		printf '%s\n' "$findings"
		if printf '%s\n' "$findings" | grep -Fq "$dir: error: "; then errors=1; fi
	fi
done
exit "$errors"
