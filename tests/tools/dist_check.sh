#!/bin/bash
# dist_check.sh TARGET…: checks what is handed out, made from the programs that `make build man cross` has built: the
# crates' licences and sources, sizes, the installed tree, release files, Debian packages, and the programs themselves,
# run by qemu. Needs what tests/tools/install.sh installs, root, and no network. Stops at the first fault.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export LC_ALL=C

started=$SECONDS
say() { printf 'dist_check: %s (after %d s)\n' "$*" $((SECONDS - started)); }
die() {
    printf 'dist_check: %s\n' "$*" >&2
    exit 1
}

[ $# -gt 0 ] || die "name the targets, such as armv7-unknown-linux-musleabihf"
targets=("$@")
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
dist=$CARGO_TARGET_DIR/dist
version=$(sed -n '/^version = "/{s/.*"\(.*\)".*/\1/p;q}' Cargo.toml)
name=aiden-skills-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Fails loudly, and is quiet otherwise.
quietly() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        die "failed: $*"
    }
}

same() { # FILE FILE WHAT
    diff -u "$1" "$2" >&2 || die "$3"
}

emulator() { # TARGET
    case $1 in
    armv7-*) echo qemu-arm-static ;;
    aarch64-*) echo qemu-aarch64-static ;;
    *) die "no emulator is known for $1" ;;
    esac
}

listing() { # DIRECTORY
    (
        cd "$1"
        find . -mindepth 1 \( -type f -printf '%M %P ' -exec sha256sum {} \; -o -printf '%M %P %l\n' \) | sort -k 2
    )
}

# Neither the umask nor what is there already makes a difference.
installed_tree() { # TARGET
    local umask
    for umask in 077 022; do
        (
            umask "$umask"
            mkdir "$work/$umask"
            quietly make --no-print-directory install TARGET="$1" DESTDIR="$work/$umask"
            listing "$work/$umask" >"$work/$umask.first"
            quietly make --no-print-directory install TARGET="$1" DESTDIR="$work/$umask"
            listing "$work/$umask" >"$work/$umask.second"
        )
        same "$work/$umask.first" "$work/$umask.second" "a second make install changes the tree"
    done
    same "$work/077.first" "$work/022.first" "make install depends on the umask"
    grep -q '^-rwxr-xr-x usr/bin/aiden-skills ' "$work/022.first" || die "the program is not installed"
}

# An image without room for the bundle keeps the one that it has, and says so.
no_room() {
    mkdir "$work/small"
    # shellcheck disable=SC2016 # for the inner shell to expand
    quietly unshare --mount bash -euc '
        mount -t tmpfs -o size=24k none "$1"
        skills=$1/oem/usr/share/aiden/skills
        mkdir -p "$skills/old"
        echo old >"$skills/old/SKILL.md"
        ! make --no-print-directory install-bundle DESTDIR="$1" || exit
        [ "$(cd "$skills" && find . -type f)" = ./old/SKILL.md ]
    ' bash "$work/small"
}

release_files() {
    quietly packaging/dist.sh "${targets[@]}"
    cp "$dist/SHA256SUMS" "$work/sums"
    printf '%s\n' "$name-licences.txt" "$name-source.tar.gz" "${targets[@]/%/.tar}" "${targets[@]/%/.cdx.json}" |
        sed "/^$name/!s/^/$name-/" | sort >"$work/expected"
    sed -n "s/^[0-9a-f]*  \($name-.*\)/\1/p" "$work/sums" | sort >"$work/named"
    same "$work/expected" "$work/named" "SHA256SUMS does not name each file of the release"
    (cd "$dist" && quietly sha256sum --check SHA256SUMS)
    quietly packaging/dist.sh "${targets[@]}"
    same "$work/sums" "$dist/SHA256SUMS" "a second make dist gives other bytes"
}

# With an empty cargo home and no network, cargo finds all crates; from a commit without changes, the unpacked tree
# makes the same release.
source_tarball() {
    local tree=$work/source/$name
    mkdir "$work/source" "$work/cargo-home"
    tar -xzf "$dist/$name-source.tar.gz" -C "$work/source"
    [ "$(ls "$work/source")" = "$name" ] || die "the source tarball has more than one directory"
    if [ -e "$tree/target" ] || [ -e "$tree/.git" ]; then die "the source tarball holds what does not belong there"; fi
    (
        cd "$tree"
        export CARGO_HOME=$work/cargo-home CARGO_NET_OFFLINE=true
        quietly cargo metadata --locked --offline --format-version 1
        quietly cargo metadata --locked --offline --format-version 1 --manifest-path fuzz/Cargo.toml
        grep -Eq '^AIDEN_REVISION = "[0-9a-f]{12}"$' .cargo/config.toml || die "the source tarball tells no revision"
        if [ -z "$changes" ]; then
            quietly packaging/dist.sh "${targets[@]}"
            same "$work/sums" "$dist/SHA256SUMS" "the source tarball makes another release than the checkout"
        fi
    )
}

crates() { # TARGET
    cargo tree --locked --offline -e normal --target "$1" --prefix none --no-dedupe -f '{p}' |
        sed -n 's/^\([^ ]*\) v\([^ ]*\).*/\1 \2/p' | grep -v '^aiden-skills ' | sort -u
}

sbom() { # TARGET
    crates "$1" >"$work/crates"
    python3 - "$dist/$name-$1.cdx.json" "$1" >"$work/components" <<'END' || die "the SBOM of $1 is not as it should be"
import json
import sys

text = open(sys.argv[1], encoding="utf-8").read()
sbom = json.loads(text)
assert sbom["bomFormat"] == "CycloneDX" and sbom["specVersion"] == "1.5", "not CycloneDX 1.5"
assert "serialNumber" not in sbom, "a serial number is another one each time"
assert "file:/" not in text, "a path of this machine"
assert sys.argv[2] in text, "the target is not named"
refs = {one["bom-ref"] for one in sbom["components"]} | {sbom["metadata"]["component"]["bom-ref"]}
assert len(refs) == len(sbom["components"]) + 1, "a component is there twice"
assert {one["ref"] for one in sbom["dependencies"]} == refs, "components and dependencies differ"
for one in sbom["components"]:
    assert one["licenses"] and one["hashes"] and one["purl"].startswith("pkg:cargo/"), one["name"]
    print(one["name"], one["version"])
END
    sort -o "$work/components" "$work/components"
    same "$work/crates" "$work/components" "the SBOM of $1 has other crates than cargo tree"
}

licences() {
    local target crate release
    for target in "${targets[@]}"; do
        crates "$target" | while read -r crate release; do
            grep -q "^  $crate $release  *[0-9A-Z(]" "$dist/$name-licences.txt" || die "no licence of $crate is told"
            grep -q "\(^\| \)$crate-$release\( \|$\)" "$dist/$name-licences.txt" || die "no text is of $crate"
        done
    done
    grep -q '^musl as a whole is licensed' "$dist/$name-licences.txt" || die "the licence of musl is missing"
}

runs() { # TARGET ROOT
    local run=("$(emulator "$1")" "$2/usr/bin/aiden-skills") bundle=$2/oem/usr/share/aiden/skills said
    said=$("${run[@]}" --version) || die "$1 does not run"
    [[ $said == *"$version"*"$1"* ]] || die "$1 says it is $said"
    quietly "${run[@]}" lint "$bundle"
    rm -rf "$work/config"
    mkdir "$work/config"
    quietly "${run[@]}" --config-dir "$work/config" --bundled-dir "$bundle" sync
    quietly "${run[@]}" --config-dir "$work/config" --bundled-dir "$bundle" doctor
    diff -r "$bundle" "$work/config/skills" >&2 || die "$1 did not bring the bundle into the library"
}

# The cryptography of TLS has assembly of its own for each processor.
merges_over_tls() { # TARGET ROOT
    local config=$work/config next=$work/next port server
    local run=("$(emulator "$1")" "$2/usr/bin/aiden-skills" --config-dir "$config" --bundled-dir "$next")
    rm -rf "$next" "$work/port"
    cp -r "$2/oem/usr/share/aiden/skills" "$next"
    local upstream=$next/planner/SKILL.md mine=$config/skills/planner/SKILL.md
    sed -i 's/^description: /&Mine: /' "$mine"
    sed -i 's/^description: /&Theirs: /' "$upstream"
    sed 's/Mine: /Mine and theirs: /' "$mine" >"$work/answer"
    quietly openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE -keyout "$work/key" -out "$work/certificate"
    exec 7> >(exec tests/tools/tls_model.py "$work/certificate" "$work/key" "$work/answer" "$work/port")
    server=$!
    while [ ! -e "$work/port" ]; do
        kill -0 "$server" || die "the model's server does not start"
        sleep 0.1
    done
    port=$(cat "$work/port")
    printf '[model]\nprovider = "openai"\nmodel = "m"\n[skills.merge]\nbase_url = "https://localhost:%s/v1"\nca_file = "%s"\n' \
        "$port" "$work/certificate" >"$config/agent.toml"
    quietly "${run[@]}" merge
    exec 7>&-
    cmp "$mine" "$work/answer" >&2 || die "$1 does not merge over TLS: $("${run[@]}" status planner)"
}

unpacked() { # TARGET
    rm -rf "$work/root"
    mkdir "$work/root"
    tar -x -C "$work/root" -f "$dist/$name-$1.tar"
}

# Installs the package of another architecture in an overlay of this machine, syncs, changes a skill, installs it again,
# removes it and purges it. Needs root.
installs() { # TARGET DEB
    local root=$work/chroot
    mkdir -p "$root"
    cat >"$work/steps" <<END
set -eu
export DEBIAN_FRONTEND=noninteractive
fail() {
    echo "dist_check: \$*" >&2
    exit 1
}
put() { dpkg --force-architecture --force-depends --no-triggers "\$@"; }
skills=/userdata/agent/skills
put -i /tmp/package.deb
[ -z "\$(dpkg --verify aiden-skills)" ] || fail "dpkg finds changed files"
wants=/etc/systemd/system/multi-user.target.wants
[ -e \$wants/aiden-skills.service ] || fail "the sync at boot is not enabled"
[ ! -e \$wants/aiden-skills-serve.service ] || fail "the daemon is enabled"
$(emulator "$1") /usr/bin/aiden-skills sync
echo mine >>\$skills/planner/SKILL.md
find \$skills -type f -exec sha256sum {} + >/tmp/before
put -i /tmp/package.deb
put -r aiden-skills
[ ! -e /oem ] || fail "files of the package stay"
[ -e /etc/default/aiden-skills ] || fail "a removal removes the defaults"
sha256sum --check --quiet /tmp/before
put -P aiden-skills
sha256sum --check --quiet /tmp/before || fail "a purge changes the library"
left=\$(find /etc /var/lib/systemd -path "*aiden-skills*")
[ -z "\$left" ] || fail "a purge leaves \$left"
END
    # shellcheck disable=SC2016 # for the inner shell to expand
    unshare --mount bash -euc '
        mount -t tmpfs none "$1"
        mkdir "$1/upper" "$1/work" "$1/root"
        mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" none "$1/root"
        cp "$2" "$1/root/tmp/package.deb"
        cp "$3" "$1/root/tmp/steps"
        exec chroot "$1/root" sh /tmp/steps
    ' bash "$root" "$2" "$work/steps"
}

debian_packages() {
    local target deb sums
    rm -f "$dist"/*.deb
    quietly packaging/deb/build.sh "${targets[@]}"
    sums=$(sha256sum "$dist"/*.deb)
    quietly packaging/deb/build.sh "${targets[@]}"
    [ "$sums" = "$(sha256sum "$dist"/*.deb)" ] || die "a second make deb gives other bytes"
    quietly lintian --fail-on error,warning --allow-root "$dist"/*.deb
    for target in "${targets[@]}"; do
        case $target in
        armv7-*) deb=$dist/aiden-skills_$version-1_armhf.deb ;;
        *) deb=$dist/aiden-skills_$version-1_arm64.deb ;;
        esac
        rm -rf "$work/deb"
        dpkg-deb -R "$deb" "$work/deb"
        grep -qx /etc/default/aiden-skills "$work/deb/DEBIAN/conffiles" || die "$deb: the defaults are no conffile"
        grep -qx USERDATA_IS_MOUNT=no "$work/deb/etc/default/aiden-skills" || die "$deb: waits for a mount"
        [ -x "$work/deb/usr/libexec/aiden-skills/boot-sync" ] || die "$deb: boot-sync can't be run"
        [ -f "$work/deb/lib/systemd/system/aiden-skills.service" ] || die "$deb: no unit"
        [ ! -e "$work/deb/userdata" ] || die "$deb: the library belongs to the user, not to the package"
        runs "$target" "$work/deb"
        quietly installs "$target" "$deb"
    done
}

changes=
if [ -e .git ]; then changes=$(git status --porcelain); fi

packaging/deny.sh
say "licences, versions and sources of the crates are as deny.toml has them"
packaging/size.sh --limits "${targets[@]}"
for target in "${targets[@]}"; do
    ! grep -qF AIDEN_MUTANT "$CARGO_TARGET_DIR/$target/release/aiden-skills" ||
        die "the program for $target has the feature mutants, which is for tests"
done
for target in "${targets[@]}"; do packaging/cross/reproducible.sh --look "$target"; done
installed_tree "${targets[0]}"
no_room
say "make install gives the same tree, whatever the umask, also when repeated, and no half a bundle"
release_files
say "make dist gives the same bytes twice"
source_tarball
if [ -n "$changes" ]; then
    say "the source tarball has all crates (a release is made from it where all changes are committed)"
else
    say "the source tarball has all crates, and makes the same release"
fi
for target in "${targets[@]}"; do sbom "$target"; done
licences
say "SBOM and licences name the crates that cargo tree names"
for target in "${targets[@]}"; do
    unpacked "$target"
    runs "$target" "$work/root"
    merges_over_tls "$target" "$work/root"
    say "$target: version, lint, sync and doctor run, and a merge over TLS"
done
debian_packages
say "the Debian packages are clean, the same twice, install, run, and leave the library when they are removed"
