#!/usr/bin/env bash
# Runs the pinned golangci-lint over the module.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

lint=$(golangci)
# Once for each set of files: a build tag hides the others.
"$lint" run ./...
"$lint" run --build-tags real ./...
