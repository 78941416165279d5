package handoff

import (
	"context"
	"errors"
	"fmt"
	"os"

	"forge/internal/journal"
	"forge/internal/project"
)

// mostLookedAt is how many runs of a remote are looked at, the newest first.
const mostLookedAt = 100

// Look is the project whose journal is what a remote says, checked and for
// this look alone: looking changes nothing of this machine's runs. id is the
// run that is meant, or its beginning; "" = all. Records that are damaged are
// left out, and said by errs. done removes it.
func (r Remote) Look(ctx context.Context, id string) (look *project.Checkout, done func(), errs, err error) {
	names, at, err := r.runs(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if id != "" {
		run, err := r.find(ctx, id)
		if err != nil {
			return nil, nil, nil, err
		}
		names = []string{run}
	}
	if len(names) > mostLookedAt {
		r.p.Log.Warn(fmt.Sprintf("there are %d runs; the newest %d are looked at", len(names), mostLookedAt), "remote", r.remote)
		names = names[:mostLookedAt]
	}
	var refs []string
	for _, run := range names {
		refs = append(refs, RecordRef(run))
	}
	if err := r.repo.FetchRefs(ctx, r.remote, refs...); err != nil {
		return nil, nil, nil, err
	}
	dir, err := os.MkdirTemp("", "forge-look-")
	if err != nil {
		return nil, nil, nil, err
	}
	look = &project.Checkout{Env: r.p.Env, Base: r.p.Base, Config: r.p.Config, State: dir, Objects: r.p.State}
	done = func() {
		look.Close()
		if err := os.RemoveAll(dir); err != nil {
			r.p.Log.Warn("remove what was looked at", "err", err)
		}
	}
	if look.Journal, err = journal.Open(ctx, dir); err != nil {
		done()
		return nil, nil, nil, err
	}
	// The oldest first, so that the newest is the newest there too.
	for n := len(names) - 1; n >= 0; n-- {
		came, err := r.read(ctx, names[n], at[names[n]])
		if err == nil {
			err = look.Journal.Import(ctx, came.rec, nil)
		}
		if err != nil {
			errs = errors.Join(errs, err)
		}
	}
	return look, done, errs, nil
}
