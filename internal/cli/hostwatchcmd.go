package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/hostwatch"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/server"
	"forge/orchestrator"
)

func (a *App) hostWatchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "take reviews on the host as answers, and go on with what they answer",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "once", Usage: "read once, and end"},
			&cli.BoolFlag{Name: "answer-only", Usage: "leave it to others to go on"},
			&cli.StringFlag{Name: "listen", Usage: "address on which webhooks are taken (" + server.HookListen + " where [host] names a webhook_url; off takes none)"},
		},
		Action: a.hostWatch,
	}
}

func (a *App) hostWatch(c *cli.Context) error {
	ctx := c.Context
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	if err := p.CheckKey(); err != nil {
		return err
	}
	w, err := hostwatch.Open(ctx, p.Checkout)
	if err != nil {
		return err
	}
	if w == nil {
		return refusal.New("forge host setup says how to name one", "this project has no code host")
	}
	set, err := pullrequest.HostSettings(p.Checkout)
	if err != nil {
		return err
	}
	var others *hostwatch.Resumer
	if !c.Bool("answer-only") {
		if others, err = a.resumer(ctx, p, w); err != nil {
			return err
		}
	}
	if c.Bool("once") {
		if c.IsSet("listen") {
			return refusal.New("leave one of them out", "--listen does not go with --once")
		}
		err := w.Once(ctx, "")
		others.Start(ctx, true)
		others.Wait()
		return pullrequest.HostRefused(err)
	}
	hooks := &hostwatch.Hooks{Env: a.env()}
	hooks.Add(w)
	shut, err := server.TakeWebhooks(a.env(), c.String("listen"), set, hooks)
	if err != nil {
		return err
	}
	defer shut()
	a.log.Info("watching", "host", set.URL, "repository", w.At.Repo, "every", set.Poll)
	w.Loop(ctx, hooks, func(polled bool) { others.Start(ctx, polled) })
	others.Wait()
	a.log.Info("stopped: what was under way goes on with forge resume, or the next forge host watch")
	return codeError(exitInterrupted)
}

// resumer goes on with runs of p side by side: none of them has the terminal.
func (a *App) resumer(ctx context.Context, p *checkout, w *hostwatch.Watch) (*hostwatch.Resumer, error) {
	e, err := p.Machine(ctx) // one of all: to find out what this machine has takes as long as the rest
	if err != nil {
		return nil, err
	}
	own := *a
	own.Stdin = strings.NewReader("")
	r := hostwatch.NewResumer(w, func(ctx context.Context, run string) error {
		err := own.resume(ctx, runOptions{run: run, output: "text", with: e})
		if errors.As(err, new(codeError)) {
			return nil // it has said how it ended
		}
		return err
	})
	r.Moved = func(ctx context.Context, s *orchestrator.State) (bool, error) {
		return runs.PullsMoved(ctx, p.Checkout, e, s)
	}
	return r, nil
}
