package host

import (
	"context"

	"forge/internal/text"
	"forge/internal/work"
)

// Heard leaves a sign at a comment that it was heard, and returns what is left to be said
// in words: that it was, where the host leaves none, and the rest.
func Heard(ctx context.Context, on Host, number int64, c work.PullComment, heard, rest []text.Markdown) ([]text.Markdown, error) {
	err := on.Acknowledge(ctx, number, c)
	switch kind := work.HostKindOf(err); {
	case err == nil:
		return rest, nil
	case kind == work.HostRefused, kind == work.HostNoRepository, kind == work.HostForbidden:
		return append(heard[:len(heard):len(heard)], rest...), nil // it takes no signs, or the comment is gone
	}
	return nil, err
}
