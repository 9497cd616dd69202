SUMMARY = "aiden-skills and the skills of the firmware"
DESCRIPTION = "The program with what starts it at boot, and the bundle that the image ships."

inherit packagegroup

# A product names the package with its own skills.
VIRTUAL-RUNTIME_aiden-skills-bundle ?= "aiden-skills-bundle"

RDEPENDS:${PN} = "\
    ${VIRTUAL-RUNTIME_aiden-skills-bundle} \
    aiden-skills \
"
