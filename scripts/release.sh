#!/usr/bin/env bash
# Makes what is given out of a version into dist, with packages: the arguments are
# those of internal/release.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
packer=$(nfpm)
exec go run ./internal/release -nfpm "$packer" "$@"
