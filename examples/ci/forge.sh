#!/bin/sh
# What a CI job does with Forge: check the configuration, run the plan without
# a person, push the run. A run of the same plan that an earlier job pushed, and
# that is not over, is gone on with instead. Copy it into the project and call it
# from one of the workflows beside it.
#
#   0  all done        1  work failed       2  usage or configuration
#   3  waits for a person                   4  a cap or the deadline
set -eu

forge version
forge config validate

# The job's own limit is longer than the deadline, so that Forge can end cleanly.
code=0
forge run --autonomous --deadline "${FORGE_DEADLINE:-50m}" ${FORGE_PUSH:+--push --resume} || code=$?

case $code in
0) echo "forge: all done" ;;
3) echo "forge: waits for a person; forge checkpoints --remote, in any clone" >&2 ;;
4) echo "forge: stopped at a cap or the deadline; the next job goes on with it" >&2 ;;
esac
exit "$code"
