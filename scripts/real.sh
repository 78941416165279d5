#!/usr/bin/env bash
# Runs the tests that need real programs: bubblewrap, the pinned agents
# against the fake model server of internal/fakemodel, and a Gitea on loopback. No key, no account and no
# model are used. What cannot be installed is an error.
#
# Arguments take the place of what is selected below:
#
#	FORGE_REAL_AGENTS=codex scripts/real.sh -run RealCodex ./internal/agent
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
# Codex's own sandbox has a /dev of its own, in which it does not find itself.
case ${TMPDIR:-} in /dev/*) unset TMPDIR ;; esac

# What needs no real program has been run by make test, and is not run again.
# Selected by their names are the tests of files with the build tag real, which
# all are called TestReal…, and those that are skipped where there is no
# sandbox, which have it in their name or are named here. internal/house
# fails when one of either sort is missing.
selection='^TestReal|Sandbox|^TestBubblewrap|^TestLandlock|^TestDetect$|^TestAfterTheDeathOfForge$|^TestHostileAgents$|^TestVerifyNetworkAsConfigured$|^TestOverlay'
# Two streams of about the same length, side by side: much of each is waiting. All that
# starts agents is in the first, so that no more of them start at the same time.
agents='./internal/agent ./internal/cli ./internal/e2e ./cmd/forge-temporal'
others='./internal/verify ./factory/web ./internal/browser ./internal/host/gitea ./internal/house ./internal/proc ./internal/release ./internal/tracker/gitea ./internal/worker ./cmd/forge-temporal/internal/machine ./cmd/forge-temporal/internal/postgres ./cmd/forge-temporal/internal/temporal'

if [ "$(uname -s)" = Linux ]; then
	apt bwrap bubblewrap
	command -v bwrap >/dev/null || die "bubblewrap is missing: install the package bubblewrap"
fi
if [ "$(uname -s)" = Linux ]; then apt podman podman; fi # runs the containers of internal/proc/containertest
apt chromium chromium
apt ssh-keygen openssh-client # the releaser signs with it
FORGE_REAL_CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	die "chromium is missing: install the package chromium"
export FORGE_REAL_CHROMIUM
# The test runners that controls of a proof are tried with.
apt pytest python3-pytest
apt cargo cargo
apt ruby ruby-minitest
apt rspec ruby-rspec
apt phpunit phpunit
apt ctest cmake
apt cc gcc
apt bats bats
apt prove perl
apt javac default-jdk-headless
# Tools whose caches are poisoned.
apt mvn maven
apt composer composer
apt bundle bundler
apt gradle gradle
apt poetry python3-poetry
FORGE_REAL_MODULES_INSTALLERS=$(npm_modules installers "pnpm@$PNPM_VERSION" "yarn@$YARN_VERSION" "@yarnpkg/cli-dist@$YARN_BERRY_VERSION" "bun@$BUN_VERSION")
export FORGE_REAL_MODULES_INSTALLERS
FORGE_REAL_MODULES_INSPECTOR=$(npm_modules inspector "@modelcontextprotocol/inspector@$INSPECTOR_VERSION")
export FORGE_REAL_MODULES_INSPECTOR
[ -e /usr/share/java/junit-platform-console-standalone.jar ] || apt no-such-program junit5
FORGE_REAL_MODULES_MOCHA=$(npm_modules mocha "mocha@$MOCHA_VERSION")
FORGE_REAL_MODULES_JEST=$(npm_modules jest "jest@$JEST_VERSION")
FORGE_REAL_MODULES_VITEST=$(npm_modules vitest "vitest@$VITEST_VERSION")
export FORGE_REAL_MODULES_MOCHA FORGE_REAL_MODULES_JEST FORGE_REAL_MODULES_VITEST
# FORGE_REAL_AGENTS names fewer of them: a test whose program is not named is
# skipped.
for agent in ${FORGE_REAL_AGENTS:-claude codex gemini opencode claude-acp gitea}; do
	case $agent in
	claude | claude-acp | codex | gemini | opencode) ;;
	gitea) # no agent, but chosen as one
		FORGE_REAL_GITEA_SRC=$(gitea_src)
		export FORGE_REAL_GITEA_SRC
		;;
	*) die "unknown agent $agent in FORGE_REAL_AGENTS" ;;
	esac
	path=$($agent)
	export "FORGE_REAL_$(echo "$agent" | tr a-z- A-Z_)=$path"
	say "testing with $path"
done
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || apt initdb postgresql # Debian has it on no PATH
FORGE_REAL_POSTGRES=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
[ -x "$FORGE_REAL_POSTGRES/initdb" ] || FORGE_REAL_POSTGRES=$(dirname "$(command -v initdb || echo missing/initdb)")
[ -x "$FORGE_REAL_POSTGRES/initdb" ] || die "Postgres is missing: install the package postgresql"
export FORGE_REAL_POSTGRES
FORGE_REAL_TEMPORAL=$(temporal)
FORGE_REAL_WORKFLOWCHECK=$(workflowcheck)
export FORGE_REAL_TEMPORAL FORGE_REAL_WORKFLOWCHECK
FORGE_REAL_NFPM=$(nfpm)
export FORGE_REAL_NFPM
apt rpm2cpio rpm2cpio
apt cpio cpio
FORGE_SARIF_SCHEMA=$(sarif_schema)
export FORGE_SARIF_SCHEMA
# A test that finds no sandbox fails instead of saying that it was skipped.
export FORGE_TEST_REQUIRE_SANDBOX=1

limit=60m
if [ "${FORGE_PACE:-}" = soak ]; then limit=600m; fi
real() { go test -vet=off -count=1 -timeout $limit -p 1 -parallel 4 -tags real "$@"; }
# stream tests packages one after the other. More tests are at it at once than there are
# cores, since some wait for limits. forge-temporal is a module of its own, and its
# packages are tested in it.
stream() {
	local failed=0 flags=() here=() there=()
	for arg in "$@"; do
		case $arg in
		./cmd/forge-temporal*) there+=(".${arg#./cmd/forge-temporal}") ;;
		./*) here+=("$arg") ;;
		*) flags+=("$arg") ;;
		esac
	done
	if [ ${#here[@]} -gt 0 ] || [ ${#there[@]} = 0 ]; then real "${flags[@]}" "${here[@]}" || failed=1; fi
	if [ ${#there[@]} -gt 0 ]; then (cd cmd/forge-temporal && real "${flags[@]}" "${there[@]}") || failed=1; fi
	return $failed
}
if [ $# -gt 0 ]; then
	stream "$@"
	exit
fi
set -m # a group of its own: who interrupts this interrupts both
# shellcheck disable=SC2086 # packages are several words
stream -run "$selection" $others &
beside=$!
set +m
trap 'kill -INT -- -$beside 2>/dev/null || true' INT TERM
failed=0
# shellcheck disable=SC2086
stream -run "$selection" $agents || failed=1
wait $beside || failed=1
exit $failed
