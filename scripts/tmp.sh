#!/usr/bin/env bash
# Prints the folder in which tests keep their temporary files: one in memory
# where there is one that holds them and runs programs, since tests wait for the
# disk more than for anything else; otherwise where temporary files always are.
# FORGE_TEST_DISK=1 asks for the disk.
set -euo pipefail

usual=${TMPDIR:-/tmp}
memory=/dev/shm
need=$((4 << 20)) # KiB: the test programs of all packages, and what they write

in_memory() {
	[ -z "${FORGE_TEST_DISK:-}" ] && [ -w $memory ] && [ "$(stat -f -c %T $memory 2>/dev/null)" = tmpfs ] || return 1
	[ "$(df -k --output=avail $memory | tail -1)" -ge $need ] || return 1
	# A container may have mounted it without the right to run programs.
	local try
	try=$(mktemp $memory/forge-try-XXXXXX) || return 1
	printf '#!/bin/sh\n' >"$try"
	chmod +x "$try"
	local runs=0
	"$try" 2>/dev/null || runs=1
	rm -f "$try"
	return $runs
}

if in_memory; then
	echo $memory
else
	echo "$usual"
fi
