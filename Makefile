# SPDX-License-Identifier: GPL-2.0-only
# One target per thing a person does.  `make help` lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help bench check check-prefixes kunit cost profile report-ioend smoke guest selftest mutations \
	style kernel tree series clean packages

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'SUITE=glob for kunit; QUICK=1, FULL=1 or PART=name for bench; JOBS=n for builds.'
	@echo 'Exit: 0 pass, 1 fail, 2 could not run.  Logs stay under build/results/.'

packages:
	@scripts/packages

bench: packages ## main job: base and patched kernel on RAID0 of 4 NVMe + XFS, table and verdict
	@scripts/bench

check: packages ## all tests, as CI runs them
	@scripts/check

check-prefixes: packages ## every prefix of the series builds, boots and passes its tests
	@scripts/check-prefixes

kunit: packages ## KUnit suites under QEMU with SMP and lockdep (SUITE=glob)
	@scripts/kunit $(SUITE)

cost: packages ## deterministic cost gates
	@scripts/cost

profile: packages ## instructions of writeback by function, base and patched (ROW=name)
	@scripts/profile $(if $(ROW),--row $(ROW)) $(if $(PHASE),--phase $(PHASE))

report-ioend: packages ## what the size of ioends buys and costs, with a picture
	@scripts/report-ioend

smoke: packages ## patched kernel: XFS on RAID0 NVMe with verification, counters back to zero
	@scripts/guest-tests smoke

guest: packages ## guest tests of the patched kernel
	@scripts/guest-tests

selftest: packages ## tests of the harness itself, with runs that must fail
	@scripts/selftest

mutations: packages ## deliberate breaks of the kernel code, each of which a suite must catch
	@scripts/mutations

style: packages ## checkpatch, sparse, W=1, kernel-doc, shellcheck
	@scripts/style

kernel: packages ## base and patched bzImage
	@scripts/kernel base patched

tree: packages ## a browsable patched source tree; prints its path
	@scripts/kernel --tree patched

series: packages ## mailable patches under build/series/, with cover letter
	@scripts/series.py export build/series

clean: ## remove everything that was generated
	rm -rf build
