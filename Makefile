# SPDX-License-Identifier: GPL-2.0-only
# `make demo` and `make test` set up all that they need; see scripts/setup for what that is.

CARGO  ?= cargo
BINARY := target/x86_64-unknown-linux-gnu/release/dyntick
OUT    ?= out
JOBS   ?= 2

.PHONY: all setup build demo test test-kernels lint bench deny clean help

all: build

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## setup   install the Debian packages and the Rust toolchain that the rest needs
setup:
	@scripts/setup

## build   the one static binary, in $(BINARY)
build: setup
	$(CARGO) build --release --locked

## demo    the adaptive-ticks study on real kernels: its table here, its report in out/
demo: build
	$(BINARY) lab run studies/adaptive-ticks.toml --jobs $(JOBS) --out $(OUT)/adaptive-ticks

## test    every check and every test, those that boot real kernels included; see also test-kernels
test: build lint
	DYNTICK=$(CURDIR)/$(BINARY) $(CARGO) test --workspace --locked

## test-kernels  build a kernel to order and boot it: minutes the first time, so not part of test
test-kernels: build
	DYNTICK=$(CURDIR)/$(BINARY) $(CARGO) test --locked --test kernels_to_order -- --ignored --nocapture

## lint    formatting, clippy, shell scripts
lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	shellcheck scripts/* .ci/run

## deny    licenses, advisories and sources of the dependencies (needs cargo-deny)
deny:
	$(CARGO) deny check

## bench   where the time of one virtual-time case goes, stage by stage
bench: build
	$(BINARY) lab bench studies/adaptive-ticks.toml

## clean   what was built here; the cache of kernels stays (see `dyntick lab doctor`)
clean:
	$(CARGO) clean
	rm -rf $(OUT)
