SUMMARY = "The skills that aiden-skills ships"
DESCRIPTION = "Installs the project's own skills where aiden-skills looks for those of the firmware."
HOMEPAGE = "https://github.com/aiden-skills/aiden-skills"
BUGTRACKER = "https://github.com/aiden-skills/aiden-skills/issues"
SECTION = "utils"
CVE_PRODUCT = "aiden-skills"
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=24f3aceaebfa7259fd1ea397d4a53ad6"

FILESEXTRAPATHS:prepend := "${AIDEN_SKILLS_SOURCE}:"
SRC_URI = "\
    file://LICENSE;subdir=${BP} \
    file://oem-skills;subdir=${BP} \
"

inherit aiden_skills_bundle

AIDEN_SKILLS_BUNDLE = "${S}/oem-skills"
