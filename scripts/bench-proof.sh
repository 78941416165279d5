#!/usr/bin/env bash
# Plays the cheats and honest changes of internal/proofbench with the forge
# program, bin/forge unless FORGE_BENCH_BINARY names another, and writes the
# figures of a whole run into docs/proof.md. Ecosystems whose programs are not
# installed are left out, and said. FORGE_BENCH_ONLY chooses cases by a regular
# expression over ecosystem/class/name: then no page is written. The other
# variables stand with TestBenchProof.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
export FORGE_BENCH_BINARY=${FORGE_BENCH_BINARY:-$PWD/bin/forge}

FORGE_BENCH_MODULES=
for packages in "mocha@$MOCHA_VERSION" "jest@$JEST_VERSION" "vitest@$VITEST_VERSION" \
	"typescript@$TYPESCRIPT_VERSION @types/node@$NODE_TYPES_VERSION"; do
	name=${packages%%@*}
	# Two packages are two words.
	# shellcheck disable=SC2086
	if dir=$(npm_modules "$name" $packages); then
		FORGE_BENCH_MODULES="$FORGE_BENCH_MODULES $name=$dir"
	fi
done
export FORGE_BENCH_MODULES
if [ -z "${FORGE_BENCH_ONLY:-}" ]; then
	export FORGE_BENCH_PAGE=${FORGE_BENCH_PAGE-docs/proof.md}
fi
exec go test -tags bench -count=1 -timeout 3h -v -run '^TestBenchProof$' ./internal/proofbench
