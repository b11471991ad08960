# SPDX-License-Identifier: GPL-2.0-only
# `make demo` and `make test` set up all that they need; see scripts/setup for what that is.

CARGO  ?= cargo
BINARY := target/x86_64-unknown-linux-gnu/release/dyntick
OUT    ?= out
JOBS   ?= 2

.PHONY: all setup build share deb dist try-install demo quick test test-python wheel test-full test-kernels test-fixes test-kvm test-book test-page reproducible lint room bench bench-record agreement governors deny clean help

all: build

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## setup   install the Debian packages and the Rust toolchain that the rest needs
setup:
	@scripts/setup

## build   the one static binary, in $(BINARY)
build:
	@scripts/setup build
	$(CARGO) build --release --locked -p dyntick

## share   man pages, and completions for bash, zsh and fish, in target/share as they are installed
share: build
	$(BINARY) man target/share/man/man1
	mkdir -p target/share/bash-completion/completions target/share/zsh/site-functions target/share/fish/vendor_completions.d
	$(BINARY) completions bash > target/share/bash-completion/completions/dyntick
	$(BINARY) completions zsh > target/share/zsh/site-functions/_dyntick
	$(BINARY) completions fish > target/share/fish/vendor_completions.d/dyntick.fish

## deb     a package for Debian, in target/package: binary, man pages, completions, book
deb: build
	@scripts/setup package
	scripts/package deb

## dist    the same as an archive for any x86-64 Linux, with SHA256SUMS; the same commit gives the same bytes
dist: build
	@scripts/setup package
	scripts/package dist

## try-install  the package installed, used and removed in bare Debian 12 and 13; three minutes
try-install: deb
	scripts/try-install

## demo    the adaptive-ticks study on real kernels: its table here, its report in out/
demo: build
	@scripts/setup studies
	$(BINARY) lab run adaptive-ticks --jobs $(JOBS) --out $(OUT)/adaptive-ticks

## quick   an answer before a commit, in two minutes: format, unit tests, one guest, one small study
quick:
	@scripts/setup build studies test
	scripts/test quick

## test    every test, those that boot real kernels included; see also test-full
test:
	@scripts/setup build studies test python
	scripts/test all

## test-python  the Python package alone: types, tests in guests and on a cluster of Ray's
test-python:
	@scripts/setup build studies test python
	$(CARGO) build --profile e2e --locked --workspace --bins
	DYNTICK=$(CURDIR)/target/x86_64-unknown-linux-gnu/e2e/dyntick scripts/python test

## wheel   the Python package as target/wheels/dyntick-*.whl, installed and tested in an environment of its own
wheel:
	@scripts/setup build studies python
	scripts/python wheel

## test-full  the same in full size with the release binary, and test-kernels, test-fixes, test-book and test-kvm: hours
test-full: build
	@scripts/setup python
	DYNTICK=$(CURDIR)/$(BINARY) scripts/python test
	DYNTICK=$(CURDIR)/$(BINARY) scripts/test full
	$(MAKE) test-kernels test-fixes test-book test-kvm

E2E = DYNTICK=$(CURDIR)/$(BINARY) $(CARGO) test --profile e2e --locked --workspace --test e2e

## test-kernels  build a kernel to order and boot it, and run the live verbs on Debian's newest kernel: minutes the first
##         time, so not part of test
test-kernels: build
	@scripts/setup studies test
	$(E2E) -- --ignored --nocapture bisected:: kernels_to_order:: tried:: verbs_by_kernel::

## test-fixes  try every fix that explain shows in guests: minutes; INSTA_UPDATE=always writes the book's table
test-fixes: build
	@scripts/setup studies test
	$(E2E) -- --ignored --nocapture fixes::

## test-book  run the book's examples in guests and compare; INSTA_UPDATE=always writes the pages
test-book: build
	@scripts/setup studies test
	$(E2E) -- --ignored --nocapture book::

## test-kvm  the wall clock on KVM, in an emulated machine that has one: some ten minutes
test-kvm: build
	@scripts/setup studies test
	$(E2E) -- --ignored --nocapture kvm::

## test-page  look at reports in headless Chromium: width, contrast, links, console; not part of test
test-page:
	@scripts/setup build page
	scripts/test-page

## reproducible  whether the binary is the same wherever it is built
reproducible:
	@scripts/setup build
	scripts/reproducible

## lint    formatting, clippy, shell scripts, with the Rust that CI has
lint:
	scripts/lint

## room    make test on bare Debian 12 and 13
room:
	scripts/clean-room 12
	scripts/clean-room 13

## deny    licenses, advisories and sources of the dependencies (needs cargo-deny)
deny:
	$(CARGO) deny check

## bench   where the time of one virtual-time case goes, stage by stage, and virtme-ng beside it; replayed governors beside
##         a bare loop over them
bench: build
	@scripts/setup studies
	$(BINARY) lab bench adaptive-ticks
	scripts/bench-virtme $(BINARY) || [ $$? -eq 3 ]
	$(CARGO) run --release --quiet --locked -p dyntick-replay --example speed

## bench-record  recording and explaining a storm of events, and perf and trace-cmd beside it (root)
bench-record: build
	scripts/bench-record $(BINARY) || [ $$? -eq 3 ]

## agreement  replayed choices of idle governors beside those of real kernels in guests, about a million
agreement: build
	scripts/replay-agreement $(BINARY)

## governors  menu, teo and ladder on recorded loads and all machines, as a table and a picture
governors: build
	DYNTICK=$(BINARY) scripts/replay-governors $(OUT)/replay-governors

## clean   what was built here; the cache of kernels stays (see `dyntick lab doctor`)
clean:
	$(CARGO) clean
	rm -rf $(OUT)
