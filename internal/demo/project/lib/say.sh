# say TEXT: prints TEXT on a line of its own.
say() { printf '%s\n' "$*"; }
