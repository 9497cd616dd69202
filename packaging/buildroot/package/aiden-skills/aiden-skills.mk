################################################################################
#
# aiden-skills
#
################################################################################

# What this tree lies in, so that package and source are always in step.
AIDEN_SKILLS_CHECKOUT = $(realpath $(BR2_EXTERNAL_AIDEN_SKILLS_PATH)/../..)
AIDEN_SKILLS_LICENSE = MIT
AIDEN_SKILLS_LICENSE_FILES = LICENSE

AIDEN_SKILLS_BUNDLE = $(call qstrip,$(BR2_PACKAGE_AIDEN_SKILLS_BUNDLE_DIR))

ifeq ($(BR2_PACKAGE_AIDEN_SKILLS_PREBUILT),y)

AIDEN_SKILLS_TARBALL = $(call qstrip,$(BR2_PACKAGE_AIDEN_SKILLS_PREBUILT_TARBALL))
AIDEN_SKILLS_SOURCE = $(notdir $(AIDEN_SKILLS_TARBALL))
AIDEN_SKILLS_VERSION = $(patsubst aiden-skills-%.tar,%,$(AIDEN_SKILLS_SOURCE))
AIDEN_SKILLS_SITE = $(patsubst %/,%,$(dir $(AIDEN_SKILLS_TARBALL)))
AIDEN_SKILLS_SITE_METHOD = file
AIDEN_SKILLS_STRIP_COMPONENTS = 0
BR_NO_CHECK_HASH_FOR += $(AIDEN_SKILLS_SOURCE)
# In the words of cargo-package.
AIDEN_SKILLS_LICENSE += , vendored dependencies licenses probably not listed

# Development versions have one name and many contents.
define AIDEN_SKILLS_FORGET_TARBALL
	rm -f $(AIDEN_SKILLS_DL_DIR)/$(AIDEN_SKILLS_SOURCE)
endef
AIDEN_SKILLS_PRE_DOWNLOAD_HOOKS += AIDEN_SKILLS_FORGET_TARBALL

define AIDEN_SKILLS_COPY_LICENSE
	cp $(AIDEN_SKILLS_CHECKOUT)/LICENSE $(@D)
endef
AIDEN_SKILLS_POST_EXTRACT_HOOKS += AIDEN_SKILLS_COPY_LICENSE

define AIDEN_SKILLS_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/usr/bin/aiden-skills \
		$(TARGET_DIR)/usr/bin/aiden-skills
endef

AIDEN_SKILLS_INIT_FILES_sysv = etc/init.d
AIDEN_SKILLS_INIT_FILES_systemd = usr/lib/systemd
define AIDEN_SKILLS_INSTALL_INIT
	$(TAR) -C $(@D) -cf - etc/default usr/libexec \
		$(AIDEN_SKILLS_INIT_FILES_$(1)) | \
		$(TAR) -C $(TARGET_DIR) --no-overwrite-dir -xf -
endef

AIDEN_SKILLS_MAKEFILE_DIR = $(AIDEN_SKILLS_CHECKOUT)
AIDEN_SKILLS_OWN_BUNDLE = $(@D)/oem/usr/share/aiden/skills
AIDEN_SKILLS_LINT = $(call qstrip,$(BR2_PACKAGE_AIDEN_SKILLS_LINT))

else # from source

AIDEN_SKILLS_VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' $(AIDEN_SKILLS_CHECKOUT)/Cargo.toml)
AIDEN_SKILLS_SITE = $(AIDEN_SKILLS_CHECKOUT)
AIDEN_SKILLS_SITE_METHOD = local
AIDEN_SKILLS_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS = --exclude /target --exclude /fuzz
HOST_AIDEN_SKILLS_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS = $(AIDEN_SKILLS_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS)

# A local source is not downloaded, and Buildroot vendors what it downloads.
# Before each build, for a rebuild may have brought another Cargo.lock.
define AIDEN_SKILLS_VENDOR
	if ! test -d $($(PKG)_OVERRIDE_SRCDIR)/VENDOR; then \
		cd $(@D) && mkdir -p .cargo $(BR_CARGO_HOME) && \
		$(HOST_MAKE_ENV) $(PKG_COMMON_CARGO_ENV) \
			flock $(BR_CARGO_HOME)/.br-lock \
			cargo vendor --locked VENDOR >.cargo/config.toml; \
	fi
endef
AIDEN_SKILLS_PRE_BUILD_HOOKS += AIDEN_SKILLS_VENDOR
HOST_AIDEN_SKILLS_PRE_BUILD_HOOKS += AIDEN_SKILLS_VENDOR

# Buildroot hides the checkout's repository from the build. A source release
# tells its revision in .cargo/config.toml.
AIDEN_SKILLS_REVISION_ENV = \
	$(addprefix AIDEN_REVISION=,$(if $(wildcard $($(PKG)_OVERRIDE_SRCDIR)/.git),\
		$(shell git -C $($(PKG)_OVERRIDE_SRCDIR) rev-parse --short=12 HEAD)))

# The release profile of Cargo.toml, which Buildroot's settings would replace.
AIDEN_SKILLS_CARGO_ENV = \
	$(AIDEN_SKILLS_REVISION_ENV) \
	CARGO_PROFILE_RELEASE_OPT_LEVEL="s" \
	CARGO_PROFILE_RELEASE_LTO="fat" \
	CARGO_PROFILE_RELEASE_CODEGEN_UNITS="1"

# It checks one directory: better built fast than small.
HOST_AIDEN_SKILLS_CARGO_ENV = \
	$(AIDEN_SKILLS_REVISION_ENV) \
	CARGO_PROFILE_RELEASE_LTO="off" \
	CARGO_PROFILE_RELEASE_CODEGEN_UNITS="16"

define AIDEN_SKILLS_INSTALL_INIT
	$(TARGET_MAKE_ENV) $(MAKE) -C $(@D) install-init \
		DESTDIR=$(TARGET_DIR) INIT=$(1)
endef

AIDEN_SKILLS_MAKEFILE_DIR = $(@D)
AIDEN_SKILLS_OWN_BUNDLE = $(@D)/oem-skills
ifneq ($(AIDEN_SKILLS_BUNDLE),)
AIDEN_SKILLS_DEPENDENCIES += host-aiden-skills
AIDEN_SKILLS_LINT = $(HOST_DIR)/bin/aiden-skills
endif

endif # from source

define AIDEN_SKILLS_INSTALL_BUNDLE
	$(TARGET_MAKE_ENV) $(MAKE) -C $(AIDEN_SKILLS_MAKEFILE_DIR) install-bundle \
		DESTDIR=$(if $(BR2_PACKAGE_AIDEN_SKILLS_OEM_IMAGE),$(BINARIES_DIR),$(TARGET_DIR)) \
		BUNDLE=$(or $(AIDEN_SKILLS_BUNDLE),$(AIDEN_SKILLS_OWN_BUNDLE)) \
		LINT=$(AIDEN_SKILLS_LINT)
endef
AIDEN_SKILLS_POST_INSTALL_TARGET_HOOKS += AIDEN_SKILLS_INSTALL_BUNDLE

ifeq ($(BR2_PACKAGE_AIDEN_SKILLS_SERVE),y)
define AIDEN_SKILLS_SWITCH_SERVE_ON
	$(SED) 's/^#\?SERVE=.*/SERVE=yes/' $(TARGET_DIR)/etc/default/aiden-skills
	grep -qx 'SERVE=yes' $(TARGET_DIR)/etc/default/aiden-skills
endef
endif

define AIDEN_SKILLS_INSTALL_INIT_SYSV
	$(call AIDEN_SKILLS_INSTALL_INIT,sysv)
	$(AIDEN_SKILLS_SWITCH_SERVE_ON)
endef

define AIDEN_SKILLS_INSTALL_INIT_SYSTEMD
	$(call AIDEN_SKILLS_INSTALL_INIT,systemd)
	$(AIDEN_SKILLS_SWITCH_SERVE_ON)
endef

ifeq ($(BR2_PACKAGE_AIDEN_SKILLS)$(BR_BUILDING),yy)
ifeq ($(wildcard $(AIDEN_SKILLS_CHECKOUT)/Cargo.toml),)
$(error $(BR2_EXTERNAL_AIDEN_SKILLS_PATH) lies in no checkout of aiden-skills: use it where the repository has it)
endif
ifeq ($(BR2_PACKAGE_AIDEN_SKILLS_PREBUILT),y)
ifeq ($(wildcard $(AIDEN_SKILLS_TARBALL)),)
$(error There is no release of aiden-skills at "$(AIDEN_SKILLS_TARBALL)": check BR2_PACKAGE_AIDEN_SKILLS_PREBUILT_TARBALL)
endif
else ifneq ($(shell printf '%s\n' 1.88 $(RUST_VERSION) | sort -VC && echo y),y)
$(error aiden-skills needs Rust 1.88 and this Buildroot has $(RUST_VERSION): use BR2_PACKAGE_AIDEN_SKILLS_PREBUILT)
endif
endif

ifeq ($(BR2_PACKAGE_AIDEN_SKILLS_PREBUILT),y)
$(eval $(generic-package))
else
$(eval $(cargo-package))
$(eval $(host-cargo-package))
endif
