# A package of skills for /oem. The recipe names the directory that holds them, one directory a skill; the build
# fails if `aiden-skills lint` finds a fault in them.
#
#   SRC_URI = "file://skills"
#   AIDEN_SKILLS_BUNDLE = "${UNPACKDIR}/skills"
#   inherit aiden_skills_bundle
#
# A skill's script that needs an interpreter asks for it with RDEPENDS, as in every recipe.

inherit allarch

AIDEN_SKILLS_BUNDLE ?= "${S}"
# Where the program looks by default.
AIDEN_SKILLS_BUNDLE_DIR ?= "/oem/usr/share/aiden/skills"

# The checker, and the script that installs.
DEPENDS += "aiden-skills-native"

do_configure[noexec] = "1"
do_compile[noexec] = "1"

do_install() {
    DESTDIR=${D} BUNDLE=${AIDEN_SKILLS_BUNDLE} BUNDLE_DIR=${AIDEN_SKILLS_BUNDLE_DIR} LINT=aiden-skills \
        sh ${STAGING_DATADIR_NATIVE}/aiden-skills/install.sh bundle
}

PACKAGES = "${PN}"
FILES:${PN} += "${AIDEN_SKILLS_BUNDLE_DIR}"
