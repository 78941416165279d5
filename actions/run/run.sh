#!/bin/sh
# Runs the plan without a person, and says how it ended: the code of forge, and a
# file with what the agents did.
set -eu

export FORGE_STATE_DIR="$RUNNER_TEMP/forge-state"
push=
[ "$FORGE_PUSH" != true ] || push="--push --resume"
code=0
# Words, split at blanks: nothing in them is carried out.
set -f
set -- $FORGE_ARGUMENTS
set +f
forge version
forge run --autonomous --deadline "$FORGE_DEADLINE" $push "$@" || code=$?
forge logs >"$RUNNER_TEMP/forge.log" 2>/dev/null || true
{
	echo "code=$code"
	echo "log=$RUNNER_TEMP/forge.log"
} >>"$GITHUB_OUTPUT"
case $code in
3) echo "forge: waits for a person; forge checkpoints --remote, in any clone" >&2 ;;
4) echo "forge: stopped at a cap or the deadline; the next job goes on with it" >&2 ;;
esac
exit "$code"
