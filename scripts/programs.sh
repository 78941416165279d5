#!/usr/bin/env bash
# Installs the programs that make test-real drives, and says in variables (FORGE_REAL_…)
# where they are: pinned, outside the checkout. Sourced by real.sh. What cannot be
# installed is an error.
#
# Called by .ci/run it fetches and builds ahead, while tests run that need none of
# them, and changes nothing that one of these could see: no package of the system is
# installed, and what fails is left to real.sh to say.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/tools.sh

# Chromium without the parts that a window needs. Tests of Forge's own pages use it where
# the system has it, since it costs half as much; pages of a user's project are tested in the
# whole browser, which users have. The script of that name on Debian's path is not used: the
# browser is its child, and goes on when the script is killed.
headless_shell=/usr/lib/chromium/chromium-headless-shell

# system_packages installs what the system has packages of.
system_packages() {
	local packages=(
		bwrap bubblewrap
		podman podman # runs the containers of internal/proc/containertest
		chromium chromium
		"$headless_shell" chromium-headless-shell
		ssh-keygen openssh-client # the releaser signs with it
		# The test runners that controls of a proof are tried with.
		pytest python3-pytest cargo cargo ruby ruby-minitest rspec ruby-rspec phpunit phpunit
		ctest cmake cc gcc bats bats prove perl javac default-jdk-headless
		# Tools whose caches are poisoned.
		mvn maven composer composer bundler bundler gradle gradle poetry python3-poetry
		rpm2cpio rpm2cpio cpio cpio
	)
	[ -e /usr/share/java/junit-platform-console-standalone.jar ] || packages+=(no-such-program junit5)
	# Debian has it on no PATH.
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || packages+=(initdb postgresql)
	apt "${packages[@]}"
}

# modules NAME prints the node_modules of a group of packages.
modules() {
	case $1 in
	installers) npm_modules installers "pnpm@$PNPM_VERSION" "yarn@$YARN_VERSION" "@yarnpkg/cli-dist@$YARN_BERRY_VERSION" "bun@$BUN_VERSION" ;;
	inspector) npm_modules inspector "@modelcontextprotocol/inspector@$INSPECTOR_VERSION" ;;
	mocha) npm_modules mocha "mocha@$MOCHA_VERSION" ;;
	jest) npm_modules jest "jest@$JEST_VERSION" ;;
	vitest) npm_modules vitest "vitest@$VITEST_VERSION" ;;
	esac
}
groups='installers inspector mocha jest vitest'
agents_of_npm='claude codex gemini opencode claude-acp'
built='workflowcheck nfpm temporal'

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	exec >/dev/null
	(
		apt_ahead=fetching
		system_packages
		for name in $groups; do modules "$name" || true; done
		for agent in $agents_of_npm; do $agent || true; done
	) &
	golangci || true
	if command -v gcc >/dev/null; then gitea || true; fi
	for name in $built; do $name || true; done
	wait
	exit
fi

system_packages
if [ "$(uname -s)" = Linux ]; then
	command -v bwrap >/dev/null || die "bubblewrap is missing: install the package bubblewrap"
fi
FORGE_REAL_CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	die "chromium is missing: install the package chromium"
export FORGE_REAL_CHROMIUM
if [ -x "$headless_shell" ]; then export FORGE_REAL_HEADLESS_SHELL=$headless_shell; fi
for name in $groups; do
	path=$(modules "$name")
	export "FORGE_REAL_MODULES_$(echo "$name" | tr a-z A-Z)=$path"
done
# FORGE_REAL_AGENTS names fewer of them: a test whose program is not named is
# skipped.
for agent in ${FORGE_REAL_AGENTS:-$agents_of_npm gitea}; do
	case " $agents_of_npm " in
	*" $agent "*) ;;
	*)
		[ "$agent" = gitea ] || die "unknown agent $agent in FORGE_REAL_AGENTS" # no agent, but chosen as one
		FORGE_REAL_GITEA_SRC=$(gitea_src)
		export FORGE_REAL_GITEA_SRC
		;;
	esac
	path=$($agent)
	export "FORGE_REAL_$(echo "$agent" | tr a-z- A-Z_)=$path"
	say "testing with $path"
done
FORGE_REAL_POSTGRES=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
[ -x "$FORGE_REAL_POSTGRES/initdb" ] || FORGE_REAL_POSTGRES=$(dirname "$(command -v initdb || echo missing/initdb)")
[ -x "$FORGE_REAL_POSTGRES/initdb" ] || die "Postgres is missing: install the package postgresql"
export FORGE_REAL_POSTGRES
for name in $built; do
	path=$($name)
	export "FORGE_REAL_$(echo "$name" | tr a-z A-Z)=$path"
done
FORGE_SARIF_SCHEMA=$(sarif_schema)
export FORGE_SARIF_SCHEMA
