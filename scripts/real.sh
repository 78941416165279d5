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
# Codex's own sandbox has a /dev of its own, in which it does not find itself.
case ${TMPDIR:-} in /dev/*) unset TMPDIR ;; esac

# A seventh of the work of servers and repositories is the disk's. Codex does not find
# itself in /dev/shm, so that /tmp is in memory, for what is started here alone: where this
# may be done, there is enough of it, and nothing that is needed lies in /tmp. With
# arguments, which may name files there, and in make soak it is on the disk;
# FORGE_TEST_DISK=1 asks for that.
mount='mount -t tmpfs -o mode=1777,size=10g tmpfs /tmp'
tmp_may_be_in_memory() {
	[ -z "${FORGE_TEST_DISK:-}" ] && [ "${TMPDIR:-/tmp}" = /tmp ] && [ "$(id -u)" = 0 ] || return 1
	case :$PWD:$HOME:$PATH:${XDG_CACHE_HOME:-}:$(go env GOROOT GOPATH GOCACHE GOMODCACHE | tr '\n' ':') in *:/tmp[:/]*) return 1 ;; esac
	[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $((14 << 20)) ] || return 1
	unshare --mount --propagation private sh -c "$mount" 2>/dev/null
}
if [ $# = 0 ] && [ "${FORGE_PACE:-}" != soak ] && tmp_may_be_in_memory; then
	FORGE_TEST_DISK=1 exec unshare --mount --propagation private sh -c "$mount && exec \"\$@\"" sh "$PWD/scripts/real.sh"
fi

# What needs no real program has been run by make test, and is not run again.
# Selected by their names are the tests of files with the build tag real, which
# all are called TestReal…, and those that are skipped where there is no
# sandbox, which have it in their name or are named here. internal/house
# fails when one of either sort is missing.
selection='^TestReal|Sandbox|^TestBubblewrap|^TestLandlock|^TestDetect$|^TestAfterTheDeathOfForge$|^TestHostileAgents$|^TestVerifyNetworkAsConfigured$|^TestOverlay'
# Streams of about the same length, side by side, a line each. Most that starts agents is in
# the first, so that few of them start at the same time; what waits more than it works, for
# timeouts of servers, is in the last, and so goes on beside all others.
streams='
./internal/agent ./internal/e2e
./internal/verify ./factory/web ./internal/browser ./internal/house ./internal/proc ./internal/release ./internal/worker ./internal/host/gitea ./internal/tracker/gitea
./internal/cli
./cmd/forge-temporal ./cmd/forge-temporal/internal/machine ./cmd/forge-temporal/internal/temporal ./cmd/forge-temporal/internal/postgres
'

# shellcheck source=scripts/programs.sh
. scripts/programs.sh
# A test that finds no sandbox fails instead of saying that it was skipped.
export FORGE_TEST_REQUIRE_SANDBOX=1

limit=60m
if [ "${FORGE_PACE:-}" = soak ]; then limit=600m; fi
real() { go test -vet=off -ldflags="-s -w" -count=1 -timeout $limit -p 1 -parallel 4 -tags real "$@"; }
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
set -m # groups of their own: who interrupts this interrupts all
under_way=()
while read -r packages; do
	[ -n "$packages" ] || continue
	# shellcheck disable=SC2086 # packages are several words
	stream -run "$selection" $packages </dev/null &
	under_way+=($!)
done <<<"$streams"
set +m
trap 'kill -INT -- "${under_way[@]/#/-}" 2>/dev/null || true' INT TERM
failed=0
for one in "${under_way[@]}"; do
	wait "$one" || failed=1
done
exit $failed
