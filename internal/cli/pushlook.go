package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
)

// openLook is openJournal, or lookFar where --remote is given.
func (a *App) openLook(c *cli.Context, run string) (p *checkout, done func(), err error) {
	if !c.IsSet("remote") {
		p, err = a.openJournal(c.Context)
		if err != nil {
			return nil, nil, err
		}
		return p, p.Close, nil
	}
	if run == "" {
		return nil, nil, refusal.New("write the whole id", "%q names no run", c.Args().First())
	}
	p, done, errs, err := a.lookFar(c.Context, c.String("remote"), run)
	if err == nil && errs != nil {
		done()
		err = errs
	}
	return p, done, err
}

// mostLookedAt is how many runs of a remote are looked at, the newest first.
const mostLookedAt = 100

// lookFar is a project whose journal is what a remote says, checked and for
// this look alone: looking changes nothing of this machine's runs. id is the
// run that is meant, or its beginning; "" = all. Records that are damaged are
// left out, and said by errs. done removes it.
func (a *App) lookFar(ctx context.Context, remote, id string) (look *checkout, done func(), errs, err error) {
	p, err := a.findProject(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	f := far{p: p.Checkout, repo: repo, remote: remote}
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
		a.log.Warn(fmt.Sprintf("there are %d runs; the newest %d are looked at", len(names), mostLookedAt), "remote", remote)
		names = names[:mostLookedAt]
	}
	var refs []string
	for _, run := range names {
		refs = append(refs, recordRef(run))
	}
	if err := repo.FetchRefs(ctx, remote, refs...); err != nil {
		return nil, nil, nil, err
	}
	dir, err := os.MkdirTemp("", "forge-look-")
	if err != nil {
		return nil, nil, nil, err
	}
	look = &checkout{&project.Checkout{Env: a.env(), Base: p.Base, Config: p.Config, State: dir, Objects: p.State}, a}
	done = func() {
		look.Close()
		if err := os.RemoveAll(dir); err != nil {
			a.log.Warn("remove what was looked at", "err", err)
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
