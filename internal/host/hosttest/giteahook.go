package hosttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hookScript takes the server's place in the hooks of its repositories: half of
// what a push costs is the start of its large program, three times, which does
// no more than ask the server. The script asks it the same. Whatever is unusual,
// and each refusal, is left to the program, whose words a push then ends with.
// The hook update does nothing but refuse a ref of the server's own, and none
// does anything in pushes that the server itself makes.
const hookScript = `#!/usr/bin/env bash
case "$GITEA_INTERNAL_PUSH $*" in
true\ *hook*) exit 0 ;;
*" update refs/heads/"*) exit 0 ;;
*" pre-receive") hook=pre-receive ;;
*" post-receive") hook=post-receive ;;
*) exec @PROGRAM@ "$@" ;;
esac
lines=$(cat)
itself() {
	export GOGC=off
	exec @PROGRAM@ "$@" <<<"$lines"
}
plain='^[0-9a-f]{40}$'
name='^refs/heads/[A-Za-z0-9/._-]+$'
path='^[A-Za-z0-9/._-]*$'
[ "$GITEA_REPO_IS_WIKI ${GIT_PUSH_OPTION_COUNT:-0} ${GITEA_DEPLOY_KEY_ID:-0} ${GITEA_ACTIONS_TASK_ID:-0}" = "false 0 0 0" ] && [ -n "$SSH_ORIGINAL_COMMAND" ] || itself "$@"
while read -r old new ref; do
	[[ $old =~ $plain && $new =~ $plain && $ref =~ $name ]] || itself "$@"
	olds+="\"$old\"," news+="\"$new\"," refs+="\"$ref\","
done <<<"$lines"
for text in "$GITEA_REPO_USER_NAME" "$GITEA_REPO_NAME" "$GITEA_PUSHER_NAME" "$GITEA_PUSH_TRIGGER" "$GIT_OBJECT_DIRECTORY" "$GIT_ALTERNATE_OBJECT_DIRECTORIES" "$GIT_QUARANTINE_PATH"; do
	[[ $text =~ $path ]] || itself "$@"
done
body="{\"OldCommitIDs\":[${olds%,}],\"NewCommitIDs\":[${news%,}],\"RefFullNames\":[${refs%,}],\"UserID\":${GITEA_PUSHER_ID:-0},\"UserName\":\"$GITEA_PUSHER_NAME\",\"PullRequestID\":${GITEA_PR_ID:-0},\"PushTrigger\":\"$GITEA_PUSH_TRIGGER\",\"GitObjectDirectory\":\"$GIT_OBJECT_DIRECTORY\",\"GitAlternativeObjectDirectories\":\"$GIT_ALTERNATE_OBJECT_DIRECTORIES\",\"GitQuarantinePath\":\"$GIT_QUARANTINE_PATH\"}"
exec 3<>/dev/tcp/127.0.0.1/@PORT@ || itself "$@"
printf 'POST /api/internal/hook/%s/%s/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nX-Real-IP: 127.0.0.1\r\nX-Gitea-Internal-Auth: Bearer @TOKEN@\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
	"$hook" "$GITEA_REPO_USER_NAME" "$GITEA_REPO_NAME" "${#body}" "$body" >&3
read -r _ status _ <&3
[ "$status" = 200 ] || itself "$@"
cat <&3 >/dev/null # until the server has done all
`

// internalToken is what the server knows its hooks by.
const internalToken = "only-for-tests-only-for-tests-only-for-tests"

func (g *Gitea) hooks() string { return filepath.Join(g.dir, "gitea") }

func (g *Gitea) writeHooks(t testing.TB, port int) {
	t.Helper()
	text := strings.NewReplacer("@PROGRAM@", g.binary, "@PORT@", fmt.Sprint(port), "@TOKEN@", internalToken).Replace(hookScript)
	check(t, os.WriteFile(g.hooks(), []byte(text), 0o755)) //nolint:gosec // a program
}
