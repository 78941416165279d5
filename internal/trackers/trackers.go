// Package trackers are the trackers that a user named: the boards that their
// issues go to, whom to ask whether one is still wanted, and what holds for text
// that somebody wrote elsewhere.
package trackers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"forge/factory/tracker"
	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/host"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/tracker/gitea"
	"forge/internal/tracker/github"
	"forge/internal/work"
)

// All are the trackers whose issues come onto the boards of a server.
type All struct {
	env  project.Env
	list []*followed
}

// Goal is a board that issues of trackers may go to.
type Goal struct {
	*board.Opened
	Poke chan<- struct{} // of the loop that works on it; nil = there is none
}

// followed is one tracker and the board that its issues go to.
type followed struct {
	set  config.TrackerSettings
	goal Goal
	sync *tracker.Sync
	poke chan struct{}

	pauses pauses
}

// Open finds the board of each tracker that the user named. One whose
// project this server does not work on is another server's.
func Open(env project.Env, goals []Goal) (*All, error) {
	cfg, err := UserConfig(env)
	if err != nil {
		return nil, err
	}
	all, err := cfg.Trackers()
	if err != nil {
		return nil, err
	}

	t := &All{env: env}
	for _, set := range all {
		g, ok, err := goalOf(set, goals)
		if err != nil {
			return nil, err
		}
		if !ok {
			env.Log.Info("the tracker's project is not worked on here", "tracker", set.Name, "project", set.Project)
			continue
		}
		on, err := client(set)
		if err != nil {
			return nil, err
		}
		t.list = append(t.list, follow(env, set, g, on))
	}
	return t, nil
}

// Origins are the trackers of the issues of one board.
func (t *All) Origins(b *board.Opened) Origins {
	o := NewOrigins(b)
	for _, one := range t.list {
		if one.goal.Opened == b {
			o.trackers = append(o.trackers, one)
		}
	}
	return o
}

// goalOf is the board that a tracker's issues go to; ok is false when it is not
// among them.
func goalOf(set config.TrackerSettings, goals []Goal) (g Goal, ok bool, err error) {
	if set.Project == "" {
		if len(goals) == 1 {
			return goals[0], true, nil
		}
		return g, false, refusal.New(`write its project = "/path/to/checkout"`, "tracker %s does not say to which of %d projects its issues go", set.Name, len(goals))
	}
	for _, g := range goals {
		if project.SameDir(g.Base.RepoRoot, filepath.Clean(set.Project)) {
			return g, true, nil
		}
	}
	return g, false, nil
}

// client is what reads and tells a tracker.
func client(set config.TrackerSettings) (tracker.Host, error) {
	var on tracker.Host
	var err error
	switch set.Kind {
	case "gitea":
		on, err = gitea.New(gitea.Config{URL: set.URL, Owner: set.Owner, Repo: set.Repo, Token: set.Token.Value})
	case "github":
		on, err = github.New(github.Config{URL: set.URL, Owner: set.Owner, Repo: set.Repo, Token: set.Token.Value})
	default:
		err = fmt.Errorf("tracker %s: %q is no kind of tracker", set.Name, set.Kind)
	}
	return on, err
}

// follow is a tracker on a host.
func follow(env project.Env, set config.TrackerSettings, g Goal, on tracker.Host) *followed {
	return &followed{set: set, goal: g, poke: make(chan struct{}, 1), sync: &tracker.Sync{
		Host: on, Store: g.Journal, Board: g.Board, Rules: tracker.Rules{Name: set.Name, Label: set.Label, Column: work.Column(set.Column)},
		Say: func(issue int64, what string) {
			env.Log.Info(text.Harmless(what), "tracker", set.Name, "project", g.Project, "issue", issue)
		},
	}}
}

// Start reads the trackers until the function that it returns is called or ctx
// is cancelled; the function waits until all of them have ended.
func (t *All) Start(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, one := range t.list {
		t.env.Log.Info("takes issues of a tracker", "tracker", one.set.Name, "repository", one.sync.Host.Name(), "label", one.set.Label)
		all.Go(func() { t.watch(ctx, one) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// watch asks one tracker for news, again and again. A tracker that fails is
// said once, and left alone for longer each time.
func (t *All) watch(ctx context.Context, one *followed) {
	failures, said := 0, ""
	for {
		err := one.sync.Once(ctx)
		if ctx.Err() != nil {
			return
		}
		if failures++; err == nil {
			failures, said = 0, ""
			one.asked(t.env.Now(), 0, nil)
		} else if body := err.Error(); body != said {
			said = body
			t.env.Log.Warn("the tracker cannot be read or told", "tracker", one.set.Name, "err", text.Harmless(body))
		}
		if one.goal.Poke != nil {
			select {
			case one.goal.Poke <- struct{}{}: // the board may have a new issue
			default:
			}
		}
		wait := time.NewTimer(tracker.Wait(one.set.Poll, failures, err))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		case <-one.poke:
			wait.Stop()
		}
	}
}

// Register takes webhooks at /hooks/<name> for the trackers that have a secret.
func (t *All) Register(handle func(pattern string, h http.Handler)) {
	for _, one := range t.list {
		if one.set.Webhook.Value == "" {
			continue
		}
		handle("POST /hooks/"+one.set.Name, one.hooks())
	}
}

func (t *followed) hooks() http.Handler {
	return &tracker.Hooks{
		Name: t.sync.Host.Name(), Store: t.goal.Journal, Most: host.MaxHookBytes,
		Check: func(header http.Header, body []byte) ([]string, error) {
			hint, err := host.ReadHook(t.set.Webhook.Value, header, body)
			if errors.Is(err, host.ErrHookUnsigned) {
				err = tracker.ErrUnsigned
			}
			return hint.Known, err
		},
		Poke: func() {
			select {
			case t.poke <- struct{}{}:
			default: // it is to be asked already
			}
		},
	}
}
