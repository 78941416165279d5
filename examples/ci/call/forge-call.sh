#!/bin/sh
# A run of forge that a comment starts, without a server of one's own: "/forge do"
# as the first line of a comment below an issue. Who wrote it has to have the right
# to write to the repository at this moment; others are not answered. The issue is
# done as it stands there now; the branch is pushed, and the answer is a comment.
#
#   API         of the repository: https://HOST/api/v1/repos/OWNER/NAME, on GitHub
#               https://api.github.com/repos/OWNER/NAME
#   TOKEN       may read the repository's people and comment on issues
#   ISSUE, WHO, BODY   number of the issue, who commented, what
set -eu

ask() { curl --fail --silent --show-error --header "Authorization: token $TOKEN" --header "Content-Type: application/json" "$@"; }
say() { jq --null-input --arg body "$1" '{body: $body}' | ask --output /dev/null --data @- "$API/issues/$ISSUE/comments"; }

# Text of people is data: it is in files and variables, and in no command.
first=$(printf '%s\n' "$BODY" | head -n 1 | tr -d '\r')
case $first in
"/forge do" | "/forge do "*) ;;
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
ask "$API/issues/$ISSUE" | jq --raw-output '.title + "\n\n" + (.body // "")' >"$folder/task.md"
code=0
forge do --autonomous --push --deadline "${FORGE_DEADLINE:-50m}" -f "$folder/task.md" >"$folder/said.txt" || code=$?
case $code in
0) say "Done; the branch is pushed." ;;
1) say "Not done: the work failed. The log is in the job." ;;
3) say "This waits for a person: \`forge checkpoints --remote\`, in any clone." ;;
4) say "Stopped at a cap or the deadline: \`forge resume --remote\` goes on, in any clone." ;;
*) say "Not begun (exit code $code). The log is in the job." ;;
esac
cat "$folder/said.txt"
exit "$code"
