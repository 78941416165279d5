#!/bin/sh
# Reviews what was committed since the base of the pull request, and says how it
# ended: the code of forge, and the file with the review.
set -eu

file=$RUNNER_TEMP/forge-review.$FORGE_FORMAT
code=0
# Words, split at blanks: nothing in them is carried out.
set -f
set -- $FORGE_ARGUMENTS
set +f
forge version
forge review --committed --output "$FORGE_FORMAT" "$@" >"$file" || code=$?
# At 2 there is no review, and nothing to post.
[ -s "$file" ] || {
	rm -f "$file"
	file=
}
{
	echo "code=$code"
	echo "file=$file"
} >>"$GITHUB_OUTPUT"
exit "$code"
