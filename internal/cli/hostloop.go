package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/work"
)

// loop reads every so often, and looks at once at what a webhook names, until
// ctx ends. What fails is said, and asked again. after is called after each
// round, and told whether that was a poll.
func (w *hostWatch) loop(ctx context.Context, hooks *hostHooks, after func(polled bool)) {
	poll := time.NewTimer(0)
	defer poll.Stop()
	var quiet time.Time // the host asks for silence until then
	for {
		var err error
		polled := false
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			polled = true
			_, err = w.read(ctx, "")
			var t *work.HostTrouble
			wait := w.every
			if errors.As(err, &t) && t.After > 0 {
				wait, quiet = max(wait, t.After), w.p.Now().Add(t.After)
			}
			poll.Reset(wait)
		case <-w.hints.wake:
			if w.p.Now().Before(quiet) {
				continue // the next poll takes the hint
			}
			if _, err = w.hinted(ctx); err == nil {
				after(false)
				continue // says nothing of whether the whole can be read
			}
		}
		if ctx.Err() != nil {
			return
		}
		w.noted(err, hooks)
		after(polled)
	}
}

// noted says what is new of how the host can be read.
func (w *hostWatch) noted(err error, hooks *hostHooks) {
	now := pullrequest.News{PID: os.Getpid(), At: w.p.Now(), Every: w.every, Held: maps.Clone(w.held), Hooks: hooks.counts()}
	maps.DeleteFunc(now.Held, func(_, why string) bool { return why == "" })
	other, writeErr := w.note.Write(now, err)
	if writeErr != nil {
		w.p.Log.Warn("others are not told", "err", writeErr)
	}
	switch {
	case other && err != nil:
		w.p.Log.Warn("the host could not be read; it is asked again", "every", w.every, "err", err)
	case other:
		w.p.Log.Info("the host can be read again", "host", w.at.URL)
	}
}

func (a *App) hostWatchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "take reviews on the host as answers, and go on with what they answer",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "once", Usage: "read once, and end"},
			&cli.BoolFlag{Name: "answer-only", Usage: "leave it to others to go on"},
			&cli.StringFlag{Name: "listen", Usage: "address on which webhooks are taken (" + hookListen + " where [host] names a webhook_url; off takes none)"},
		},
		Action: a.hostWatch,
	}
}

// hookListen is where forge host watch takes webhooks when nobody says where.
const hookListen = "127.0.0.1:8787"

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
	w, err := openWatch(ctx, p.Checkout)
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
	var others *goingOn
	if !c.Bool("answer-only") {
		if others, err = newGoingOn(ctx, a, w); err != nil {
			return err
		}
	}
	if c.Bool("once") {
		if c.IsSet("listen") {
			return refusal.New("leave one of them out", "--listen does not go with --once")
		}
		w.patient = true
		_, err := w.read(ctx, "")
		w.notedOnce(err)
		others.start(ctx, true)
		others.wait()
		return pullrequest.HostRefused(err)
	}
	hooks := &hostHooks{env: a.env(), watches: []*hostWatch{w}}
	shut, err := a.listenHooks(c.String("listen"), set, hooks)
	if err != nil {
		return err
	}
	defer shut()
	a.log.Info("watching", "host", set.URL, "repository", w.at.Repo, "every", set.Poll)
	w.loop(ctx, hooks, func(polled bool) { others.start(ctx, polled) })
	others.wait()
	a.log.Info("stopped: what was under way goes on with forge resume, or the next forge host watch")
	return codeError(exitInterrupted)
}

// listenHooks takes webhooks until the result is called.
func (a *App) listenHooks(listen string, set config.CodeHost, hooks *hostHooks) (shut func(), err error) {
	chosen := listen != ""
	switch {
	case listen == config.ListenOff, !chosen && (set.WebhookURL == "" || set.WebhookSecret.Value == ""):
		if !chosen && set.WebhookURL != "" {
			a.log.Warn("webhooks are not taken: what they are signed with is not set", "variable", set.WebhookSecret.Name)
		}
		return func() {}, nil
	case set.WebhookSecret.Value == "":
		return nil, refusal.New("set it to a long random text", "%s, which webhooks are signed with, is not set", set.WebhookSecret.Name)
	case !chosen:
		listen = hookListen
	}
	in, err := net.Listen("tcp", listen)
	if err != nil && chosen {
		return nil, refusal.New("name another one by --listen, or off", "listen on %s for webhooks: %v", listen, err)
	}
	if err != nil {
		a.log.Warn("webhooks are not taken; the host is asked instead", "err", err, "set", "--listen")
		return func() {}, nil
	}
	server := &http.Server{
		Handler: hooks, ReadHeaderTimeout: headerWait, ReadTimeout: bodyWait, WriteTimeout: answerWait, IdleTimeout: idleWait, MaxHeaderBytes: mostHeader,
		ErrorLog: slog.NewLogLogger(slog.New(a.log).Handler(), slog.LevelDebug),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(in); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("webhooks are not taken any more", "err", err)
		}
	}()
	a.log.Info("taking webhooks", "at", "http://"+shownAddr(in.Addr().String()), "host sends them to", set.WebhookURL)
	return func() {
		_ = server.Close() // a hint that is cut off is lost as any other
		<-served
	}, nil
}

// goingOn goes on with runs that a review answered; nil goes on with none.
type goingOn struct {
	app *App
	w   *hostWatch
	e   *project.Machine // of all of them: to find out what this machine has takes as long as the rest
	all sync.WaitGroup

	mu   sync.Mutex
	busy map[string]bool
	last map[string]int64  // run → the newest answer when it was gone on with last
	said map[string]string // run → why it could not be gone on with
}

func newGoingOn(ctx context.Context, a *App, w *hostWatch) (*goingOn, error) {
	e, err := w.p.Machine(ctx)
	if err != nil {
		return nil, err
	}
	// Several runs go on side by side: none of them has the terminal.
	own := *a
	own.Stdin = strings.NewReader("")
	return &goingOn{app: &own, w: w, e: e, busy: map[string]bool{}, last: map[string]int64{}, said: map[string]string{}}, nil
}

// start goes on with every run that was answered by a review, also by one that
// somebody read before, and that nobody drives. What could not go on with an
// answer is tried again when the host was polled.
func (g *goingOn) start(ctx context.Context, polled bool) {
	if g == nil {
		return
	}
	runs, err := g.answered(ctx)
	if err != nil && ctx.Err() == nil {
		g.app.log.Warn("find the runs that were answered", "err", err)
	}
	for run, newest := range runs {
		g.mu.Lock()
		wait := g.busy[run] || !polled && g.last[run] == newest
		if !wait {
			g.busy[run], g.last[run] = true, newest
		}
		g.mu.Unlock()
		if !wait {
			g.all.Go(func() { g.resume(ctx, run) })
		}
	}
}

func (g *goingOn) resume(ctx context.Context, run string) {
	err := g.app.resume(ctx, runOptions{run: run, output: "text", with: g.e})
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.busy, run)
	switch {
	case err == nil, errors.As(err, new(codeError)), errors.Is(err, journal.ErrLease), ctx.Err() != nil:
		delete(g.said, run)
	case g.said[run] != err.Error():
		g.said[run] = err.Error()
		g.app.log.Warn("the run is answered, and cannot go on; it is tried again", "run", run, "err", err)
	}
	g.w.hints.poke() // another answer may have come too late for this process
}

// answered are the runs with reviews that nobody has heard, and the newest of
// these.
func (g *goingOn) answered(ctx context.Context) (map[string]int64, error) {
	rows, err := g.w.p.Journal.Unfinished(ctx)
	out := map[string]int64{}
	for _, row := range rows {
		if project.Driven(row) || row.Issue != 0 || row.Events == 0 {
			continue
		}
		inbox, inboxErr := g.w.p.Journal.Inbox(ctx, row.ID)
		if inboxErr != nil {
			return out, inboxErr
		}
		for _, r := range inbox {
			if r.Answer.Door == pullrequest.Channel {
				out[row.ID] = r.ID
			}
		}
	}
	return out, err
}

// wait returns when every run that it went on with has ended.
func (g *goingOn) wait() {
	if g != nil {
		g.all.Wait()
	}
}

// hostWatches are the code hosts of the projects that a factory works on.
type hostWatches struct {
	hooks *hostHooks
	list  []*hostWatch
}

// openWatches finds them. One that cannot be watched is said.
func (a *App) openWatches(ctx context.Context, shops []*shop) *hostWatches {
	all := &hostWatches{hooks: &hostHooks{env: a.env()}}
	seen := map[string]*hostWatch{}
	for _, s := range shops {
		p, err := s.fresh(ctx)
		var w *hostWatch
		if err == nil {
			w, err = openWatch(ctx, p)
		}
		if err != nil {
			s.Log.Warn("the code host is not watched", "project", s.Project, "err", err)
		}
		if w == nil {
			continue
		}
		key := fmt.Sprint(p.State, w.at)
		if same := seen[key]; same != nil {
			same.shops, s.hints = append(same.shops, s), same.hints
			continue // the same journal, and the same questions
		}
		seen[key] = w
		w.shops, s.hints = []*shop{s}, w.hints
		all.list = append(all.list, w)
		if w.secret != "" {
			all.hooks.watches = append(all.hooks.watches, w)
		}
		a.log.Info("watches the code host", "project", s.Project, "host", w.at.URL, "repository", w.at.Repo, "every", w.every)
	}
	return all
}

// register takes their webhooks at /hooks, and lets monitors count them.
func (h *hostWatches) register(s *webServer) {
	if len(h.hooks.watches) > 0 {
		s.pages.HandleOpen("POST /hooks", h.hooks)
		s.api.Webhooks = h.hooks.figures
	}
}

// start takes reviews as answers until the result is called; the factory's own
// loops go on with what they answer. A factory that works until nothing is left
// reads them before it begins.
func (h *hostWatches) start(ctx context.Context, once bool) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, w := range h.list {
		if once {
			w.patient = true
			_, err := w.read(ctx, "")
			w.noted(err, h.hooks)
			w.patient = false
		}
		all.Go(func() { w.loop(ctx, h.hooks, func(bool) {}) })
	}
	return func() {
		stop()
		all.Wait()
	}
}
