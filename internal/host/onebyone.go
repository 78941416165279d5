package host

import (
	"context"
	"fmt"

	"forge/internal/work"
)

// OneByOne is a host that merges each pull request itself.
type OneByOne struct{}

// LandsTogether says that none do.
func (OneByOne) LandsTogether(context.Context, string) (bool, error) { return false, nil }

// MarkMerged is refused.
func (OneByOne) MarkMerged(_ context.Context, number int64, _ string) error {
	return &work.HostTrouble{Kind: work.HostRefused, Do: fmt.Sprintf("mark pull request %d as merged", number), What: "this host merges each by itself"}
}
