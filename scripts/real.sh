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
selection='^TestReal|Sandbox|^TestBubblewrap|^TestLandlock|^TestDetect$|^TestAfterTheDeathOfForge$|^TestVerifyNetworkAsConfigured$|^TestOverlay'
# Four at a time, the next one when one has ended: the longest first, so that the last
# ones end at about the same time on every machine.
packages='
./internal/cli ./internal/agent ./internal/verify ./cmd/forge-temporal/internal/machine ./internal/e2e
./cmd/forge-temporal ./cmd/forge-temporal/internal/temporal ./internal/release ./factory/web ./internal/worker
./internal/host/gitea ./internal/browser ./cmd/forge-temporal/internal/postgres ./internal/proc ./internal/tracker/gitea ./internal/house
'

# shellcheck source=scripts/programs.sh
. scripts/programs.sh
# A test that finds no sandbox fails instead of saying that it was skipped.
export FORGE_TEST_REQUIRE_SANDBOX=1

limit=60m
if [ "${FORGE_PACE:-}" = soak ]; then limit=600m; fi
real() { go test -vet=off -ldflags="-s -w" -count=1 -timeout $limit -p 1 -parallel 4 -tags real "$@"; }
# tested plays the tests of packages. More of them are at it at once than there are cores,
# since some wait for limits. forge-temporal is a module of its own, and its packages are
# tested in it.
tested() {
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
	tested "$@"
	exit
fi
claimed=$(mktemp -d)
# worker tests one package after the other of those that nobody has claimed.
worker() {
	trap 'exit 1' INT TERM
	local failed=0 package
	for package in $packages; do
		mkdir "$claimed/${package//[.\/]/,}" 2>/dev/null || continue
		tested -run "$selection" "$package" || failed=1
	done
	return $failed
}
set -m # groups of their own: who interrupts this interrupts all
under_way=()
for _ in 1 2 3 4; do
	worker </dev/null &
	under_way+=($!)
done
set +m
trap 'kill -INT -- "${under_way[@]/#/-}" 2>/dev/null || true' INT TERM
failed=0
for one in "${under_way[@]}"; do
	wait "$one" || failed=1
done
claims=$(ls "$claimed" | wc -l)
rm -r "$claimed"
# shellcheck disable=SC2086 # packages are several words
[ "$claims" = "$(printf '%s\n' $packages | wc -l)" ] || die "not every package was tested"
exit $failed
