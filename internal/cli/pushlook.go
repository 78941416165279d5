package cli

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

// look is the project whose journal is what a remote says, checked and for
// this look alone: looking changes nothing of this machine's runs. id is the
// run that is meant, or its beginning; "" = all. Records that are damaged are
// left out, and said by errs. done removes it.
func (f far) look(ctx context.Context, id string) (look *project.Checkout, done func(), errs, err error) {
	names, at, err := f.runs(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if id != "" {
		run, err := f.find(ctx, id)
		if err != nil {
			return nil, nil, nil, err
		}
		names = []string{run}
	}
	if len(names) > mostLookedAt {
		f.p.Log.Warn(fmt.Sprintf("there are %d runs; the newest %d are looked at", len(names), mostLookedAt), "remote", f.remote)
		names = names[:mostLookedAt]
	}
	var refs []string
	for _, run := range names {
		refs = append(refs, recordRef(run))
	}
	if err := f.repo.FetchRefs(ctx, f.remote, refs...); err != nil {
		return nil, nil, nil, err
	}
	dir, err := os.MkdirTemp("", "forge-look-")
	if err != nil {
		return nil, nil, nil, err
	}
	look = &project.Checkout{Env: f.p.Env, Base: f.p.Base, Config: f.p.Config, State: dir, Objects: f.p.State}
	done = func() {
		look.Close()
		if err := os.RemoveAll(dir); err != nil {
			f.p.Log.Warn("remove what was looked at", "err", err)
		}
	}
	if look.Journal, err = journal.Open(ctx, dir); err != nil {
		done()
		return nil, nil, nil, err
	}
	// The oldest first, so that the newest is the newest there too.
	for n := len(names) - 1; n >= 0; n-- {
		came, err := f.read(ctx, names[n], at[names[n]])
		if err == nil {
			err = look.Journal.Import(ctx, came.rec, nil)
		}
		if err != nil {
			errs = errors.Join(errs, err)
		}
	}
	return look, done, errs, nil
}
