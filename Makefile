# `make help` tells what there is.
CARGO ?= cargo
CARGO_TARGET_DIR ?= target
export CARGO_TARGET_DIR AIDEN_CROSS_ROUTE
ifneq ($(words $(CURDIR) $(CARGO_TARGET_DIR)),2)
$(error make can't work where there is a blank in a path: $(CURDIR), $(CARGO_TARGET_DIR))
endif

TARGETS ?= aarch64-unknown-linux-musl armv7-unknown-linux-musleabihf
BOARD ?= armv7
# How long `power-loss-soak` goes on.
HOURS ?= 8

# What `install` takes. TARGET is one of TARGETS; empty, this machine. INIT: sysv, systemd, both words or none.
TARGET ?=
PREFIX ?= /usr
SYSCONFDIR ?= /etc
INIT ?= sysv systemd
BUNDLE ?= oem-skills
BUNDLE_DIR ?= /oem/usr/share/aiden/skills
PROGRAM = $(CARGO_TARGET_DIR)/release/aiden-skills
BINARY ?= $(if $(TARGET),$(CARGO_TARGET_DIR)/$(TARGET)/release/aiden-skills,$(PROGRAM))
# The program that checks the bundle, for this machine; empty: no check. (make has a LINT of its own.)
ifeq ($(origin LINT),default)
LINT = $(PROGRAM)
endif
ASSETS ?= $(CARGO_TARGET_DIR)/assets
INSTALL = DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" SYSCONFDIR="$(SYSCONFDIR)" UNIT_DIR="$(UNIT_DIR)" INIT="$(INIT)" \
	SYSV_SCRIPT="$(SYSV_SCRIPT)" BUNDLE="$(BUNDLE)" BUNDLE_DIR="$(BUNDLE_DIR)" BINARY="$(BINARY)" LINT="$(LINT)" \
	ASSETS="$(ASSETS)" packaging/install.sh

.DEFAULT_GOAL := help
.PHONY: help build cross test demo fuzz man size install install-program install-bundle install-init install-docs \
	dist deb vendor audit boot hil power-loss power-loss-soak install-tools clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | column -t -s @ 2>/dev/null || \
	sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1 - \2/p' $(MAKEFILE_LIST)

build: ## Build the program for this machine: target/release/aiden-skills
	tests/tools/install.sh build
	$(CARGO) build --locked --release

cross: ## Build the static programs for the boards: target/TARGET/release/aiden-skills
	tests/tools/install.sh cross $(TARGETS)
	for target in $(TARGETS); do packaging/cross/build.sh $$target || exit; done

test: install-tools ## Install what is needed and run everything that CI runs
	tests/tools/test.sh

demo: build ## Walk through a firmware's life in a scratch directory
	examples/demo.sh $(PROGRAM)

fuzz: install-tools ## Give each fuzz target a million inputs
	tests/tools/fuzz.sh 1000000

man: ## Make man pages and shell completions in target/assets
	$(CARGO) run --quiet --locked --example generate -- $(CARGO_TARGET_DIR)/assets

size: cross ## Tell what takes the room in the boards' programs
	tests/tools/install.sh size
	packaging/size.sh $(TARGETS)

install: install-program install-bundle install-init install-docs ## Install below DESTDIR: program, bundle, init files, man pages

install-program: $(BINARY)
	$(INSTALL) program

install-bundle: $(filter $(PROGRAM),$(LINT))
	$(INSTALL) bundle

install-init:
	$(INSTALL) init

install-docs: $(ASSETS)/man/man1/aiden-skills.1
	$(INSTALL) docs

# Made where they are missing; whether they are up to date is for build, cross and man.
$(CARGO_TARGET_DIR)/release/aiden-skills:
	$(MAKE) build

$(CARGO_TARGET_DIR)/%/release/aiden-skills:
	$(MAKE) cross TARGETS=$*

$(CARGO_TARGET_DIR)/assets/man/man1/aiden-skills.1:
	$(MAKE) man

dist: build man cross ## Make what a release hands out, in target/dist
	tests/tools/install.sh package
	packaging/dist.sh $(TARGETS)

deb: dist ## Make Debian packages for the boards, in target/dist
	packaging/deb/build.sh $(TARGETS)

vendor: ## Put the crates into VENDOR/, for a build without network
	packaging/vendor.sh .

audit: ## Ask the advisory database about the crates; needs a network
	tests/tools/install.sh package
	packaging/deny.sh advisories

boot: ## Start a virtual board with a console: BOARD=armv7, aarch64 or systemd
	tests/tools/install.sh boards
	board/qemu/boot.sh $(BOARD)

hil: cross ## Test the component on the virtual boards
	tests/tools/install.sh boards
	board/qemu/hil.sh

power-loss: cross man ## Cut the power of virtual boards, in all the ways of docs/power-loss.md
	tests/tools/install.sh boards
	board/qemu/power-loss.sh

power-loss-soak: cross man ## The same for HOURS (8), with other cuts each time, until one does harm
	tests/tools/install.sh boards
	end=$$(($$(date +%s) + $(HOURS) * 3600)); while [ "$$(date +%s)" -lt "$$end" ]; do \
	AIDEN_SOAK=20 board/qemu/power-loss.sh && AIDEN_SOAK=20 $(CARGO) test --locked --test faults || exit; done

install-tools: ## Install what the tests need: Debian packages, and a cache outside of this tree
	tests/tools/install.sh

clean: ## Remove everything that was built
	$(CARGO) clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts
	[ ! -e .git ] || rm -rf VENDOR .cargo/config.toml # A source tarball brings them.
