SUMMARY = "A small image that brings its skills into the library at boot"
DESCRIPTION = "What core-image-minimal has, and aiden-skills: to try it in an emulator."
LICENSE = "MIT"

inherit core-image

IMAGE_INSTALL = "\
    ${CORE_IMAGE_EXTRA_INSTALL} \
    packagegroup-aiden-skills \
    packagegroup-core-boot \
"
IMAGE_LINGUAS = ""

add_userdata[doc] = "Mounts an empty /userdata at each boot; a product mounts a partition there."
add_userdata() {
    install -d ${IMAGE_ROOTFS}/userdata
    echo "tmpfs /userdata tmpfs mode=0755 0 0" >> ${IMAGE_ROOTFS}${sysconfdir}/fstab
}
ROOTFS_POSTPROCESS_COMMAND += "add_userdata"
