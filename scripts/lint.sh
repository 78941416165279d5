#!/usr/bin/env bash
# Runs the pinned golangci-lint over the module, and that of forge-temporal.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

lint=$(golangci)
# With the tag no file is left out: none asks for its absence.
"$lint" run --build-tags real ./...
cd cmd/forge-temporal
"$lint" run --build-tags real ./...
