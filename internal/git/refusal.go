package git

import (
	"errors"
	"fmt"
	"strings"

	"forge/internal/text"
)

// RefusedError is a remote that answers, and does not take what is pushed.
type RefusedError struct {
	Remote, Ref string
	Err         *CommandError
}

// Error says what the remote says.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the remote %q does not take %s: %s", e.Remote, e.Ref, e.Err.refusal())
}

// Unwrap returns git's error.
func (e *RefusedError) Unwrap() error { return e.Err }

// refusal is why a push was refused: what the other side says, and git's own
// word for it.
func (e *CommandError) refusal() string {
	var said []string
	for line := range strings.Lines(e.Stderr) {
		line = strings.TrimSpace(line)
		if words, ok := strings.CutPrefix(line, "remote:"); ok {
			words = strings.TrimSpace(words)
			if words = strings.TrimSpace(strings.TrimPrefix(words, "error:")); words != "" {
				said = append(said, words)
			}
		}
		if at := strings.LastIndex(line, " ("); at > 0 && strings.HasPrefix(line, "! [") && strings.HasSuffix(line, ")") {
			said = append(said, line[at+1:])
		}
	}
	if len(said) == 0 {
		return e.Error()
	}
	const most = 500
	return text.Cut(strings.Join(said, " "), most)
}

// refused names the remote's refusal, where err is one.
func refused(remote, ref string, err error) error {
	var said *CommandError
	var gone *UnreachableError
	if err == nil || errors.As(err, &gone) || !errors.As(err, &said) {
		return err
	}
	return &RefusedError{Remote: remote, Ref: ref, Err: said}
}
