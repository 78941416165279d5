package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/factory/tracker"
	pages "forge/factory/web"
	"forge/internal/config"
	"forge/internal/host"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/tracker/gitea"
	"forge/internal/tracker/github"
	"forge/internal/work"
)

// trackers are the trackers whose issues come onto the boards of a server.
type trackers struct {
	env  project.Env
	list []*openTracker
}

// openTracker is one tracker and the board that its issues go to.
type openTracker struct {
	set  config.TrackerSettings
	shop *shop
	sync *tracker.Sync
	poke chan struct{}

	pauses pauses
}

// trackerSettings are the trackers of the user's own configuration.
func (a *App) trackerSettings() ([]config.TrackerSettings, error) {
	cfg, err := userConfig(a.env())
	if err != nil {
		return nil, err
	}
	return cfg.Trackers()
}

// userConfig is the user's own configuration, in which no project has a say.
func userConfig(env project.Env) (*config.Config, error) {
	cfg, _, err := config.Load(config.Sources{ProjectDir: env.Dir, Without: config.AllOfProject, UserFile: config.UserFile(env.Environ), Environ: env.Environ})
	return cfg, err
}

// openTrackers finds the board of each tracker that the user named. One whose
// project this server does not work on is another server's.
func (a *App) openTrackers(shops []*shop) (*trackers, error) {
	all, err := a.trackerSettings()
	if err != nil {
		return nil, err
	}
	t := &trackers{env: a.env()}
	for _, set := range all {
		s, err := shopOf(set, shops)
		if err != nil {
			return nil, err
		}
		if s == nil {
			a.log.Info("the tracker's project is not worked on here", "tracker", set.Name, "project", set.Project)
			continue
		}
		one, err := a.openTracker(set, s)
		if err != nil {
			return nil, err
		}
		t.list = append(t.list, one)
		s.trackers = append(s.trackers, one)
	}
	return t, nil
}

// shopOf is the project that a tracker's issues go to; nil when it is not among
// them.
func shopOf(set config.TrackerSettings, shops []*shop) (*shop, error) {
	if set.Project == "" {
		if len(shops) == 1 {
			return shops[0], nil
		}
		return nil, refusal.New(`write its project = "/path/to/checkout"`, "tracker %s does not say to which of %d projects its issues go", set.Name, len(shops))
	}
	for _, s := range shops {
		if project.SameDir(s.Base.RepoRoot, filepath.Clean(set.Project)) {
			return s, nil
		}
	}
	return nil, nil
}

func (a *App) openTracker(set config.TrackerSettings, s *shop) (*openTracker, error) {
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
	if err != nil {
		return nil, err
	}
	return a.watchTracker(set, s, on), nil
}

// watchTracker is a tracker on a host.
func (a *App) watchTracker(set config.TrackerSettings, s *shop, on tracker.Host) *openTracker {
	return &openTracker{set: set, shop: s, poke: make(chan struct{}, 1), sync: &tracker.Sync{
		Host: on, Store: s.Journal, Board: s.Board, Rules: tracker.Rules{Name: set.Name, Label: set.Label, Column: work.Column(set.Column)},
		Say: func(issue int64, what string) {
			a.log.Info(text.Harmless(what), "tracker", set.Name, "project", s.Project, "issue", issue)
		},
	}}
}

// start reads the trackers until the function that it returns is called or ctx
// is cancelled; the function waits until all of them have ended.
func (t *trackers) start(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, one := range t.list {
		t.env.Log.Info("takes issues of a tracker", "tracker", one.set.Name, "repository", one.sync.Host.Name(), "label", one.set.Label)
		all.Go(func() { t.follow(ctx, one) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// follow asks one tracker for news, again and again. A tracker that fails is
// said once, and left alone for longer each time.
func (t *trackers) follow(ctx context.Context, one *openTracker) {
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
		if one.shop.poke != nil {
			select {
			case one.shop.poke <- struct{}{}: // the board may have a new issue
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

// register takes webhooks at /hooks/<name> for the trackers that have a secret.
func (t *trackers) register(s *pages.Server) {
	for _, one := range t.list {
		if one.set.Webhook.Value == "" {
			continue
		}
		s.HandleOpen("POST /hooks/"+one.set.Name, one.hooks())
	}
}

func (t *openTracker) hooks() http.Handler {
	return &tracker.Hooks{
		Name: t.sync.Host.Name(), Store: t.shop.Journal, Most: host.MaxHookBytes,
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

// forStranger readies the project, as it was read for one issue, for what
// somebody wrote elsewhere: its sandbox becomes a required one, and the agents'
// own settings count among what the proof rests on; it says whether it did. A run
// of such an issue shows every change of them to a person. A part of such an issue is one too. Only the user's own
// configuration lets go of the sandbox, and what cannot be found out is not so.
func (s *shop) forStranger(ctx context.Context, p *project.Checkout, i work.Issue) (stranger bool, err error) {
	source := i.Source
	for n := 0; source == "" && i.Parent != 0 && n < 100; n++ {
		if i, err = s.Journal.Issue(ctx, s.Project, i.Parent); err != nil {
			return true, fmt.Errorf("find out where the issue comes from: %w", err)
		}
		source = i.Source
	}
	if source == "" {
		return false, nil
	}
	p.Config.File.Verify.Protected = slices.Concat(p.Config.File.Verify.Protected, agentSettings())
	if cfg, err := userConfig(s.Env); err == nil {
		for _, t := range cfg.TrackerSandboxes() {
			if !t.Sandboxed && sourceOf(t.Name, source) {
				return true, nil
			}
		}
	}
	mode := "required"
	p.Config.File.Sandbox.Mode = &mode
	if _, err := proc.Choose(mode, s.e.Caps); err != nil {
		return true, refusal.New(project.SandboxFix()+`, or write sandbox = "as_configured" to its tracker in your own configuration`, "%s was written elsewhere and runs in a sandbox alone: %v", source, err)
	}
	return true, nil
}

// agentSettings are globs of what agentRules knows.
func agentSettings() []string {
	out := []string{".mcp.json", "opencode.json", "opencode.jsonc", "AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md"}
	for _, folder := range []string{".claude", ".codex", ".gemini", ".opencode"} {
		out = append(out, folder+"/**", "**/"+folder+"/**")
	}
	return out
}

// sourceOf says that an issue's source is one of the tracker of that name.
func sourceOf(name, source string) bool {
	n := strings.LastIndexByte(source, '#')
	return n >= 0 && source[:n] == name
}
