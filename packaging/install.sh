#!/bin/sh
# install.sh PART…: installs parts of the component by target path. PART is program, bundle, init or docs. The
# Makefile's install targets call it and say what the variables mean. Modes do not depend on the umask or on the
# source's modes; with SOURCE_DATE_EPOCH, times do not depend on when it runs.
set -eu
umask 022
export LC_ALL=C
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
board=$here/../board

: "${DESTDIR:=}" "${PREFIX:=/usr}" "${SYSCONFDIR:=/etc}" "${UNIT_DIR:=$PREFIX/lib/systemd/system}"
: "${BUNDLE_DIR:=/oem/usr/share/aiden/skills}" "${SYSV_SCRIPT:=S38aiden-skills}" "${INIT=sysv systemd}"

die() {
    echo "install: $*" >&2
    exit 1
}

put() { # MODE FILE PATH
    install -D -m "$1" "$2" "$DESTDIR$3"
    dated "$3"
}

dated() { # PATH
    if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then touch -h -d "@$SOURCE_DATE_EPOCH" "$DESTDIR$1"; fi
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

# What a sync would not take for part of a skill stays out of the image.
skill_files() {
    find . \( -name '.aiden-*' -o -name .DS_Store -o -name Thumbs.db -o -name __pycache__ -o -name '*.pyc' \
        -o -name '*.swp' -o -name '*~' \) -prune -o -type f -print
}

# Replaced as a whole: a skill that the bundle has no more must not stay in the image.
bundle() {
    [ -d "${BUNDLE:?}" ] || die "$BUNDLE is no directory of skills"
    if [ -n "${LINT:-}" ]; then
        "$LINT" lint "$BUNDLE" >&2 || die "$BUNDLE is not a bundle to ship; see above"
    else
        echo "install: $BUNDLE is not checked, for LINT names no program for this machine" >&2
    fi
    case $BUNDLE_DIR in
    /*/*) rm -rf "$DESTDIR$BUNDLE_DIR" ;;
    *) die "BUNDLE_DIR is replaced as a whole, so it can't be $BUNDLE_DIR" ;;
    esac
    (cd "$BUNDLE" && skill_files) | sort | while read -r file; do
        mode=0644
        if [ -x "$BUNDLE/$file" ]; then mode=0755; fi
        put "$mode" "$BUNDLE/$file" "$BUNDLE_DIR/${file#./}"
    done
    find "$DESTDIR$BUNDLE_DIR" -depth -type d | while read -r directory; do dated "${directory#"$DESTDIR"}"; done
}

init() {
    put_configured 0644 "$board/default/aiden-skills" "$SYSCONFDIR/default/aiden-skills"
    put_configured 0755 "$board/libexec/boot-sync" "$PREFIX/libexec/aiden-skills/boot-sync"
    for system in $INIT; do
        case $system in
        sysv) put_configured 0755 "$board/init.d/S38aiden-skills" "$SYSCONFDIR/init.d/$SYSV_SCRIPT" ;;
        systemd)
            for unit in "$board"/systemd/*; do
                put_configured 0644 "$unit" "$UNIT_DIR/${unit##*/}"
            done
            ;;
        *) die "there is no init system $system: sysv, systemd or both" ;;
        esac
    done
}

docs() {
    : "${ASSETS:?}"
    for page in "$ASSETS"/man/man1/*.1; do
        put 0644 "$page" "$PREFIX/share/man/man1/${page##*/}"
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
