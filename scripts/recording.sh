#!/usr/bin/env bash
# Plays forge do in a real terminal and draws it as docs/pictures/terminal.svg, or
# the file that is the argument.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
apt tmux tmux
command -v tmux >/dev/null || die "tmux is missing: install the package tmux"
${GO:-go} run ./internal/recording -forge bin/forge -o "${1:-docs/pictures/terminal.svg}"
