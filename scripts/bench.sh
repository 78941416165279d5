#!/usr/bin/env bash
# Runs every benchmark for the time given (default 1s), one package after the
# other so that they do not disturb each other. go-task, beside which a plan is
# measured, is built when it is missing; a Gitea is taken where scripts/real.sh
# has built one.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
if task=$(gotask); then
	export FORGE_BENCH_TASK=$task
else
	say "without go-task, its comparison is skipped"
fi
gitea=$tools/gitea-$GITEA_VERSION
if [ -x "$gitea/gitea" ]; then
	export FORGE_REAL_GITEA=$gitea/gitea FORGE_REAL_GITEA_SRC=$gitea/static
else
	say "without gitea, the comparisons with it are skipped"
fi

time=${1:-1s}
status=0
for pkg in $(go list ./...); do
	dir=$(go list -f '{{.Dir}}' "$pkg")
	if grep -qs '^func Benchmark' "$dir"/*_test.go; then
		go test -p 1 -run '^$' -bench . -benchtime "$time" -timeout 30m "$pkg" || status=1
	fi
done
# forge-temporal's need a Postgres, as scripts/real.sh has one.
FORGE_REAL_POSTGRES=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
if [ -x "$FORGE_REAL_POSTGRES/initdb" ]; then
	export FORGE_REAL_POSTGRES
	(cd cmd/forge-temporal && go test -tags real -run '^$' -bench . -benchtime "$time" -timeout 30m ./internal/postgres) || status=1
else
	say "without Postgres, its journal is not measured"
fi
# A run on Temporal is held against a bare workflow, where scripts/real.sh has built a server.
if FORGE_REAL_TEMPORAL=$(temporal); then
	export FORGE_REAL_TEMPORAL
	(cd cmd/forge-temporal && go test -tags real -run '^$' -bench Overhead -benchtime "$time" -timeout 30m ./internal/temporal) || status=1
else
	say "without a Temporal server, runs on one are not measured"
fi
exit $status
