#!/usr/bin/env bash
# Runs the tests that need real programs: bubblewrap, and the pinned Claude
# Code against the fake model server of internal/fakemodel. No key, no account
# and no model are used.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

if [ "$(uname -s)" = Linux ]; then
	apt bwrap bubblewrap
	command -v bwrap >/dev/null || die "bubblewrap is missing: install the package bubblewrap"
fi
FORGE_REAL_CLAUDE=$(claude)
export FORGE_REAL_CLAUDE
# A test that finds no sandbox fails instead of saying that it was skipped.
export FORGE_TEST_REQUIRE_SANDBOX=1

say "testing with $FORGE_REAL_CLAUDE"
exec go test -count=1 -timeout 25m -tags real "$@" ./...
