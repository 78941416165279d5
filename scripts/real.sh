#!/usr/bin/env bash
# Runs the tests that need real programs: bubblewrap, and the pinned agents
# against the fake model server of internal/fakemodel. No key, no account and no
# model are used.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

if [ "$(uname -s)" = Linux ]; then
	apt bwrap bubblewrap
	command -v bwrap >/dev/null || die "bubblewrap is missing: install the package bubblewrap"
fi
# FORGE_REAL_AGENTS names more of them: the others take longer, and a test whose
# program is not named is skipped.
for agent in ${FORGE_REAL_AGENTS:-claude}; do
	case $agent in
	claude | claude-acp | codex | gemini | opencode) ;;
	*) die "unknown agent $agent in FORGE_REAL_AGENTS" ;;
	esac
	path=$($agent)
	export "FORGE_REAL_$(echo "$agent" | tr a-z- A-Z_)=$path"
	say "testing with $path"
done
# A test that finds no sandbox fails instead of saying that it was skipped.
export FORGE_TEST_REQUIRE_SANDBOX=1

exec go test -count=1 -timeout 45m -tags real "$@" ./...
