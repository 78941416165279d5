#!/usr/bin/env bash
# Runs every fuzz target for the time given (default 30s). FORGE_FUZZTIME tells
# long-running tests that search by themselves, such as the simulation, how
# long to go on.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-30s}
export FORGE_FUZZTIME=$time
found=0
status=0
for pkg in $(go list ./...); do
	dir=$(go list -f '{{.Dir}}' "$pkg")
	grep -qs '^func Fuzz' "$dir"/*_test.go || continue
	list=$(go test -list '^Fuzz' "$pkg")
	for target in $(grep '^Fuzz' <<<"$list" || true); do
		found=$((found + 1))
		printf '==> %s %s for %s\n' "$pkg" "$target" "$time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg" || status=1
	done
done
if [ "$found" = 0 ]; then
	echo "fuzz.sh: no fuzz target was found" >&2
	exit 1
fi
exit $status
