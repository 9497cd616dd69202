#!/bin/sh
# install.sh PART…: installs parts of the component by target path. PART is program, bundle, init or docs. The
# Makefile's install targets call it and say what the variables mean. Modes do not depend on the umask or on the
# source's modes; with SOURCE_DATE_EPOCH, times do not depend on when it runs.
set -eu
umask 022
export LC_ALL=C
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
board=$here/../board

: "${DESTDIR:=}" "${SOURCE_DATE_EPOCH:=}" "${PREFIX:=/usr}" "${SYSCONFDIR:=/etc}" "${UNIT_DIR:=$PREFIX/lib/systemd/system}"
: "${BUNDLE_DIR:=/oem/usr/share/aiden/skills}" "${SYSV_SCRIPT:=S38aiden-skills}" "${INIT=sysv systemd}"

BUNDLE_DIR=${BUNDLE_DIR%/}

die() {
    echo "install: $*" >&2
    exit 1
}

# Scripts and units name these, and none of them quotes.
case $PREFIX$SYSCONFDIR$UNIT_DIR in
*[!A-Za-z0-9/._+-]*) die "only letters, digits and / . _ + - may be in PREFIX, SYSCONFDIR and UNIT_DIR" ;;
esac
case $SOURCE_DATE_EPOCH in
*[!0-9]*) die "SOURCE_DATE_EPOCH is no number of seconds: $SOURCE_DATE_EPOCH" ;;
esac
root=/
if [ -n "$DESTDIR" ]; then
    DESTDIR=$(realpath -m -- "$DESTDIR")
    root=${DESTDIR%/}/
fi

put() { # MODE FILE PATH
    install -D -m "$1" "$2" "$DESTDIR$3"
    dated "$3"
}

dated() { # PATH
    if [ -n "$SOURCE_DATE_EPOCH" ]; then touch -h -d "@$SOURCE_DATE_EPOCH" "$DESTDIR$1"; fi
}

# The scripts and units name /usr and /etc; an image may have them elsewhere.
put_configured() { # MODE FILE PATH
    put "$@"
    if [ "$PREFIX$SYSCONFDIR" != /usr/etc ]; then
        sed -i -e "s|/usr/bin/|$PREFIX/bin/|g; s|/usr/libexec/|$PREFIX/libexec/|g" \
            -e "s|/etc/default/|$SYSCONFDIR/default/|g" "$DESTDIR$3"
        dated "$3"
    fi
}

program() {
    put 0755 "${BINARY:?}" "$PREFIX/bin/aiden-skills"
}

# Directories with a SKILL.md, without what a sync would not take for part of a skill either.
skill_files() {
    for skill in */SKILL.md; do
        [ -f "$skill" ] || continue
        find "./${skill%/SKILL.md}" \( -name '.aiden-*' -o -name .git -o -name .DS_Store -o -name Thumbs.db \
            -o -name __pycache__ -o -name '*.pyc' -o -name '*.swp' -o -name '*~' \) -prune -o -type f -print || return
    done
}

# Replaced as a whole, once it is complete: a skill that the bundle has no more must not stay in the image.
bundle() {
    [ -d "${BUNDLE:?}" ] || die "$BUNDLE is no directory of skills"
    [ ! -e "$BUNDLE/SKILL.md" ] || die "$BUNDLE is one skill; name the directory that it lies in"
    source=$(realpath -- "$BUNDLE")
    place=$(realpath -m "$DESTDIR$BUNDLE_DIR")
    case $BUNDLE_DIR/ in
    *//* | */./* | */../*) die "BUNDLE_DIR must be a plain path, not $BUNDLE_DIR" ;;
    /*/*/) ;;
    *) die "BUNDLE_DIR is replaced as a whole, so it can't be $BUNDLE_DIR" ;;
    esac
    case $place in
    "$root"*) ;;
    *) die "$DESTDIR$BUNDLE_DIR leads out of $DESTDIR by a link" ;;
    esac
    case $source/ in
    "$place"/*) die "$BUNDLE is what would be replaced" ;;
    esac
    if [ -n "${LINT:-}" ]; then
        "$LINT" lint "$source" >&2 || die "$BUNDLE is not a bundle to ship; see above"
    else
        echo "install: $BUNDLE is not checked, for LINT names no program for this machine" >&2
    fi
    list=$(mktemp)
    trap 'rm -f "$list"' EXIT
    (cd "$source" && skill_files) >"$list" || die "$BUNDLE can't be read"
    [ -s "$list" ] || die "there is no skill in $BUNDLE"
    rm -rf "$place.new"
    sort "$list" | while IFS= read -r file; do
        mode=0644
        case $(stat -c %A "$source/$file") in *x*) mode=0755 ;; esac
        put "$mode" "$source/$file" "$BUNDLE_DIR.new/${file#./}"
    done
    rm -rf "$place"
    mv "$place.new" "$place"
    if [ -n "$SOURCE_DATE_EPOCH" ]; then
        find "$place" -depth -type d -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
    fi
}

init() {
    put_configured 0644 "$board/default/aiden-skills" "$SYSCONFDIR/default/aiden-skills"
    if [ "$BUNDLE_DIR" != /oem/usr/share/aiden/skills ]; then
        printf '\n# Where this image has its bundle.\nAIDEN_BUNDLED_SKILLS_DIR="%s"\n' "$BUNDLE_DIR" \
            >>"$DESTDIR$SYSCONFDIR/default/aiden-skills"
        dated "$SYSCONFDIR/default/aiden-skills"
    fi
    put_configured 0755 "$board/libexec/boot-sync" "$PREFIX/libexec/aiden-skills/boot-sync"
    put_configured 0644 "$board/libexec/settings" "$PREFIX/libexec/aiden-skills/settings"
    for system in $INIT; do
        case $system in
        sysv) put_configured 0755 "$board/init.d/S38aiden-skills" "$SYSCONFDIR/init.d/$SYSV_SCRIPT" ;;
        systemd)
            for unit in "$board"/systemd/*; do
                put_configured 0644 "$unit" "$UNIT_DIR/${unit##*/}"
            done
            put 0644 "$board/system-preset/50-aiden-skills.preset" \
                "${UNIT_DIR%/*}/system-preset/50-aiden-skills.preset"
            ;;
        *) die "there is no init system $system: sysv, systemd, or both words" ;;
        esac
    done
}

docs() {
    : "${ASSETS:?}"
    for page in "$ASSETS"/man/man1/*.1; do
        put 0644 "$page" "$PREFIX/share/man/man1/${page##*/}"
    done
    for schema in src/evolve/schemas/*.json; do
        put 0644 "$schema" "$PREFIX/share/aiden-skills/schemas/${schema##*/}"
    done
    put 0644 "$ASSETS/completions/aiden-skills" "$PREFIX/share/bash-completion/completions/aiden-skills"
    put 0644 "$ASSETS/completions/_aiden-skills" "$PREFIX/share/zsh/site-functions/_aiden-skills"
    put 0644 "$ASSETS/completions/aiden-skills.fish" "$PREFIX/share/fish/vendor_completions.d/aiden-skills.fish"
}

[ $# -gt 0 ] || die "name what to install: program, bundle, init, docs"
for part in "$@"; do
    case $part in
    program | bundle | init | docs) "$part" ;;
    *) die "there is no part $part: program, bundle, init or docs" ;;
    esac
done
