package handoff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"forge/internal/work"
)

// mostResting is how many runs of a remote are looked at for one that can be gone
// on with, the newest first.
const mostResting = 20

// Resting is the newest run of a plan that rests at the remote and is not over:
// frozen, interrupted, or at a limit. "" = there is none. What cannot be read is
// left out and said.
func (r Remote) Resting(ctx context.Context, plan work.Plan) (string, error) {
	names, at, err := r.runs(ctx)
	if err != nil || len(names) == 0 {
		return "", err
	}
	names = names[:min(len(names), mostResting)]
	var refs []string
	for _, run := range names {
		refs = append(refs, RecordRef(run))
	}
	if err := r.repo.FetchRefs(ctx, r.remote, refs...); err != nil {
		return "", err
	}
	want, err := json.Marshal(plan)
	if err != nil {
		return "", fmt.Errorf("compare plans: %w", err)
	}
	for _, run := range names {
		came, err := r.read(ctx, run, at[run])
		if err != nil {
			r.p.Log.Warn("a run at the remote is left out", "run", run, "err", err)
			continue
		}
		s := came.state
		if s.Issue != nil || s.Job != nil || s.Outcome == "" || s.Outcome.Final() || came.rec.Holder.Claim != "" {
			continue
		}
		if has, err := json.Marshal(s.Spec.Plan); err == nil && bytes.Equal(has, want) {
			return run, nil
		}
	}
	return "", nil
}
