#!/usr/bin/env bash
# Prints the PATH of tests: as it is, with the folder of the python that python3
# stands for before it, where that is a script. Managers of versions put such
# scripts there, and each call starts four shells, a tenth of a second of work.
set -euo pipefail

found=$(command -v python3 || true)
if [ -n "$found" ] && [ "$(head -c 2 "$found" | tr -d '\0')" = '#!' ] &&
	meant=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) && [ -x "${meant%/*}/python3" ]; then
	PATH=${meant%/*}:$PATH
fi
echo "$PATH"
