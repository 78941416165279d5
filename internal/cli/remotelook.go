package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"forge/internal/handoff"
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

// lookFar is the project around the working directory as a remote has its runs.
func (a *App) lookFar(ctx context.Context, remote, id string) (look *checkout, done func(), errs, err error) {
	p, err := a.findProject(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	there, done, errs, err := handoff.At(p.Checkout, repo, remote).Look(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	return &checkout{there, a}, done, errs, nil
}
