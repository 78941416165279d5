#!/bin/sh
# What a CI job does to review a pull request: one review of what was pushed,
# written to a file that the workflow posts or uploads. The base is what CI says
# of the pull request. Copy it into the project and call it from one of the
# workflows beside it.
#
# With PULL, the number of the pull request on the code host that [host] names,
# forge says there what is new, at the lines that it is about, and settles what is
# mended; nothing has to be posted then.
#
#   0  nothing that gates is against it     1  a gating finding
#   2  usage or configuration               5  it could not be judged: never a pass
set -eu

format=${1:-markdown} # markdown, sarif or json
file=${2:-forge-review.out}

forge version
code=0
case ${PULL:-} in
"") forge review --committed --output "$format" >"$file" || code=$? ;;
*[!0-9]*)
	echo "forge: PULL is no number: $PULL" >&2
	exit 2
	;;
*) forge review --pull "$PULL" --output "$format" >"$file" || code=$? ;;
esac
[ -s "$file" ] || rm -f "$file" # at 2 there is no review, and nothing to post

case $code in
0) echo "forge: the review passed" ;;
1) echo "forge: the review found something that holds the change; see $file" >&2 ;;
5) echo "forge: the review could not judge the change; see $file" >&2 ;;
esac
exit "$code"
