# `make help` tells what there is.
CARGO ?= cargo
CARGO_TARGET_DIR ?= target
PROGRAM = $(CARGO_TARGET_DIR)/release/aiden-skills
export CARGO_TARGET_DIR

.DEFAULT_GOAL := help
.PHONY: help build test demo fuzz man install-tools clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | column -t -s @ 2>/dev/null || \
	sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 - \2/p' $(MAKEFILE_LIST)

build: ## Build the program for this machine: target/release/aiden-skills
	tests/tools/install.sh build
	$(CARGO) build --locked --release

test: install-tools ## Install what is needed and run everything that CI runs
	tests/tools/test.sh

demo: build ## Walk through a firmware's life in a scratch directory
	examples/demo.sh $(PROGRAM)

fuzz: install-tools ## Give each fuzz target a million inputs
	tests/tools/fuzz.sh 1000000

man: ## Make man pages and shell completions in target/assets
	$(CARGO) run --locked --example generate -- $(CARGO_TARGET_DIR)/assets

install-tools: ## Install what the tests need: Debian packages, and a cache outside of this tree
	tests/tools/install.sh

clean: ## Remove everything that was built
	$(CARGO) clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts
