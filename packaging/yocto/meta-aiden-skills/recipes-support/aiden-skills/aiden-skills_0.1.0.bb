SUMMARY = "Keeps the skills of an agent that lives on a board"
DESCRIPTION = "Brings the firmware's skills into the agent's library at every boot and never loses an edit."
HOMEPAGE = "https://github.com/aiden-skills/aiden-skills"
BUGTRACKER = "https://github.com/aiden-skills/aiden-skills/issues"
SECTION = "utils"
CVE_PRODUCT = "aiden-skills"
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=24f3aceaebfa7259fd1ea397d4a53ad6"

FILESEXTRAPATHS:prepend := "${AIDEN_SKILLS_SOURCE}:"
SRC_URI = "\
    file://Cargo.lock;subdir=${BP} \
    file://Cargo.toml;subdir=${BP} \
    file://LICENSE;subdir=${BP} \
    file://board;subdir=${BP} \
    file://build.rs;subdir=${BP} \
    file://packaging/install.sh;subdir=${BP} \
    file://src;subdir=${BP} \
"

inherit cargo cargo-update-recipe-crates systemd update-rc.d

require ${BPN}-crates.inc

# Starts the daemon at boot.
PACKAGECONFIG ??= ""
PACKAGECONFIG[serve] = ""

# What --version tells. Else build.rs asks git, which finds whatever checkout the build directory lies in.
AIDEN_REVISION ?= "recipe ${PV}-${PR}"
export AIDEN_REVISION

# The symbols go to the -dbg package.
CARGO_BUILD_FLAGS += "--config profile.release.strip=false"

INIT_KINDS = "${@bb.utils.filter('DISTRO_FEATURES', 'sysvinit systemd', d).replace('sysvinit', 'sysv')}"

do_install:append:class-native() {
    # For aiden_skills_bundle.bbclass.
    install -D -m 0755 ${S}/packaging/install.sh ${D}${datadir}/aiden-skills/install.sh
}

do_install:append:class-target() {
    DESTDIR=${D} PREFIX=${prefix} SYSCONFDIR=${sysconfdir} UNIT_DIR=${systemd_system_unitdir} \
        SYSV_SCRIPT=${INITSCRIPT_NAME} INIT="${INIT_KINDS}" sh ${S}/packaging/install.sh init
    if ${@bb.utils.contains('PACKAGECONFIG', 'serve', 'true', 'false', d)}; then
        echo "SERVE=yes" >> ${D}${sysconfdir}/default/aiden-skills
    fi
}

SYSTEMD_SERVICE:${PN} = "aiden-skills.service"
INITSCRIPT_NAME = "aiden-skills"
# After populate-volatile.sh, which makes /var/run.
INITSCRIPT_PARAMS = "start 38 S . stop 20 0 1 6 ."

# The daemon's units, which nothing enables.
FILES:${PN} += "${systemd_system_unitdir} ${systemd_unitdir}/system-preset"
CONFFILES:${PN} = "${sysconfdir}/default/aiden-skills"

BBCLASSEXTEND = "native"
