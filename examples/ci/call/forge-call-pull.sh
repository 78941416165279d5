#!/bin/sh
# A call in a pull request, without a server of one's own: "/forge review" or
# "/forge fix" as the first line of a comment. Who wrote it has to have the right to
# write to the repository at this moment; others are not answered. The workflow has
# the pull request's own branch checked out, with its history, and no branch of
# another repository: what strangers push is not run beside your secrets.
#
#   review   what would be merged is reviewed; the review is one comment, which the
#            next call replaces
#   fix      what the comment says below its first line is done on top of the branch,
#            proven, and pushed to it; nothing is merged
#
#   API, TOKEN, WHO, BODY   as for forge-call.sh; PULL the number of the pull request
#   HEAD, BASE              its branch, and the branch that it is for
set -eu

ask() { curl --fail --silent --show-error --header "Authorization: token $TOKEN" --header "Content-Type: application/json" "$@"; }
mark='<!-- forge-call-review -->'

# say FILE: the body is a file, since text of people is in no command.
say() { jq --null-input --rawfile body "$1" '{body: $body}' | ask --output /dev/null --data @- "$API/issues/$PULL/comments"; }

# replace FILE: the earlier review of the same account is edited, else there is a new one.
replace() {
	old=$(ask "$API/issues/$PULL/comments" | jq --raw-output --arg mark "$mark" '[.[] | select(.body | startswith($mark)) | .id] | last // ""')
	case $old in
	"" | *[!0-9]*) say "$1" ;;
	*) jq --null-input --rawfile body "$1" '{body: $body}' | ask --output /dev/null --request PATCH --data @- "$API/issues/comments/$old" ;;
	esac
}

first=$(printf '%s\n' "$BODY" | head -n 1 | tr -d '\r')
case $first in
"/forge review" | "/forge review "*) call=review ;;
"/forge fix" | "/forge fix "*) call=fix ;;
*) exit 0 ;;
esac
case $WHO in
"" | *[!A-Za-z0-9._-]*) exit 0 ;;
esac
case $(ask "$API/collaborators/$WHO/permission" | jq --raw-output .permission) in
write | admin | owner) ;;
*) exit 0 ;;
esac

folder=$(mktemp -d)
code=0
if [ "$call" = review ]; then
	forge review --committed --base "origin/$BASE" --output markdown >"$folder/review.md" || code=$?
	if [ -s "$folder/review.md" ]; then
		{ printf '%s\n\n' "$mark" && cat "$folder/review.md"; } >"$folder/said.md"
		replace "$folder/said.md"
	fi
	exit "$code"
fi

{ printf '%s\n\n' "${first#/forge fix}" && printf '%s\n' "$BODY" | tail -n +2; } | tr -d '\r' >"$folder/task.md"
if ! grep -q '[^[:space:]]' "$folder/task.md"; then
	echo "Not begun: say below \`/forge fix\` what is to be mended." >"$folder/said.md"
	say "$folder/said.md"
	exit 0
fi
forge do --autonomous --deadline "${FORGE_DEADLINE:-50m}" -f "$folder/task.md" >"$folder/out.txt" || code=$?
case $code in
0) if git push --quiet origin "HEAD:refs/heads/$HEAD"; then echo "Done, and pushed to this branch."; else echo "Done, and not pushed: the branch has moved. Call again."; fi ;;
1) echo "Not done: the work failed. The log is in the job." ;;
3) echo "This waits for a person, and nothing is pushed. The log is in the job." ;;
4) echo "Stopped at a cap or the deadline, and nothing is pushed. The log is in the job." ;;
*) echo "Not begun (exit code $code). The log is in the job." ;;
esac >"$folder/said.md"
say "$folder/said.md"
cat "$folder/out.txt"
exit "$code"
