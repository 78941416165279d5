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
	"slices"
	"sync"
	"time"

	"forge/factory"
	"forge/factory/tracker"
	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/host"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/tracker/gitea"
	"forge/internal/tracker/github"
	"forge/internal/tracker/gitlab"
	"forge/internal/tracker/jira"
	"forge/internal/tracker/linear"
	"forge/internal/work"
)

// All are the trackers whose issues come onto the boards of a server. Boards are
// added while it runs, too.
type All struct {
	env project.Env

	mu    sync.Mutex
	goals []Goal
	list  []*followed
}

// Goal is a board that issues of trackers may go to.
type Goal struct {
	*board.Opened
	Poke chan<- struct{} // of the loop that works on it; nil = there is none
	// Ends ends what still runs of an issue that was cancelled; nil = nothing does.
	Ends func(ctx context.Context, i work.Issue, by factory.By) error
}

// followed is one tracker and the board that its issues go to.
type followed struct {
	set   config.TrackerSettings
	goal  Goal
	every func() time.Duration // how often it is asked; nil = as set says
	sync  *tracker.Sync
	poke  chan struct{}

	pauses pauses
}

// Open reads the trackers that the user named, and finds the board of each. One
// whose project is not among the goals is another server's, or is added later.
func Open(env project.Env, goals []Goal) (*All, error) {
	all, err := settings(env)
	if err != nil {
		return nil, err
	}

	t := &All{env: env}
	for _, set := range all {
		if err := names(set, len(goals)); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(goals, func(g Goal) bool { return g.of(set) }) {
			env.Log.Info("the tracker's project is not worked on here", "tracker", set.Name, "project", set.Project)
		}
	}
	for _, g := range goals {
		if err := t.add(g, all); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// settings are those of the trackers as the user names them now.
func settings(env project.Env) ([]config.TrackerSettings, error) {
	cfg, err := UserConfig(env)
	if err != nil {
		return nil, err
	}
	return cfg.Trackers()
}

// Room says what keeps one more board from being added: trackers that do not say
// to which of several boards their issues go.
func (t *All) Room() error {
	all, err := settings(t.env)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, set := range all {
		if err := names(set, len(t.goals)+1); err != nil {
			return err
		}
	}
	return nil
}

// Add takes issues of the trackers that name this board from now on: their
// webhooks at once, and each of looks asks one of them until its context ends.
func (t *All) Add(g Goal) (looks []func(context.Context), err error) {
	if err := t.Room(); err != nil {
		return nil, err
	}
	all, err := settings(t.env)
	if err != nil {
		return nil, err
	}
	if err := t.add(g, all); err != nil {
		return nil, err
	}
	return t.Looks(g.Opened), nil
}

// add finds the trackers of a board.
func (t *All) add(g Goal, all []config.TrackerSettings) error {
	var list []*followed
	for _, set := range all {
		if !g.of(set) {
			continue
		}
		on, err := client(set)
		if err != nil {
			return err
		}
		list = append(list, follow(t.env, set, g, on))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.goals = append(t.goals, g)
	t.list = append(t.list, list...)
	return nil
}

// Beside is a tracker that no configuration names.
type Beside struct {
	Settings config.TrackerSettings
	Host     tracker.Host
	Spell    func(number int64) string
	Every    func() time.Duration // how often it is asked, at this moment
}

// Follow takes issues of one more tracker. It is called before Looks and Origins.
func (t *All) Follow(g Goal, b Beside) {
	one := follow(t.env, b.Settings, g, b.Host)
	one.sync.Rules.Spell, one.every = b.Spell, b.Every
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, one)
}

// Refresh has the trackers of a board asked at once. coalesced says that this was
// wanted already.
func (t *All) Refresh(b *board.Opened) (coalesced bool) {
	for _, one := range t.of(b) {
		select {
		case one.poke <- struct{}{}:
		default:
			coalesced = true
		}
	}
	return coalesced
}

// of are the trackers of one board.
func (t *All) of(b *board.Opened) (list []*followed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.list {
		if one.goal.Opened == b {
			list = append(list, one)
		}
	}
	return list
}

// Origins are the trackers of the issues of one board.
func (t *All) Origins(b *board.Opened) Origins {
	o := NewOrigins(b)
	o.trackers = t.of(b)
	return o
}

// names says whether a tracker says to which of so many boards its issues go.
func names(set config.TrackerSettings, boards int) error {
	if set.Project == "" && boards > 1 {
		return refusal.New(`write its project = "/path/to/checkout" in your own configuration`, "tracker %s does not say to which of %d projects its issues go", set.Name, boards)
	}
	return nil
}

// of says whether a tracker's issues go to this board. Where it names none, there
// is no other board.
func (g Goal) of(set config.TrackerSettings) bool {
	return set.Project == "" || project.SameDir(g.Base.RepoRoot, filepath.Clean(set.Project))
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
	case "gitlab":
		on, err = gitlab.New(gitlab.Config{URL: set.URL, Project: set.Path, Token: set.Token.Value})
	case "jira":
		on, err = jira.New(jira.Config{URL: set.URL, Project: set.Path, User: set.User, Token: set.Token.Value, States: statesOf(set)})
	case "linear":
		on, err = linear.New(linear.Config{URL: set.URL, Workspace: set.Owner, Team: set.Repo, Token: set.Token.Value, States: statesOf(set)})
	default:
		err = fmt.Errorf("tracker %s: %q is no kind of tracker", set.Name, set.Kind)
	}
	return on, err
}

// statesOf are the names that the stages of the work have on a tracker.
func statesOf(set config.TrackerSettings) tracker.States {
	return tracker.States{Working: set.Working, Reviewing: set.Reviewing, Done: set.Done}
}

// follow is a tracker on a host.
func follow(env project.Env, set config.TrackerSettings, g Goal, on tracker.Host) *followed {
	return &followed{set: set, goal: g, poke: make(chan struct{}, 1), sync: &tracker.Sync{
		Host: on, Store: g.Journal, Board: g.Board, Rules: tracker.Rules{
			Name: set.Name, Label: set.Label, Column: work.Column(set.Column), Called: set.Call, States: set.States,
			Level:  g.Level,
			Labels: func() ([]string, error) { return mappedOf(g) },
		},
		History: g.History, Ends: g.Ends,
		Say: func(issue int64, what string) {
			env.Log.Info(text.Harmless(what), "tracker", set.Name, "project", g.Project, "issue", issue)
		},
	}}
}

// Looks ask the trackers of a board, each until its context ends.
func (t *All) Looks(b *board.Opened) (looks []func(context.Context)) {
	for _, one := range t.of(b) {
		t.env.Log.Info("takes issues of a tracker", "tracker", one.set.Name, "repository", one.sync.Host.Name(), "label", one.set.Label)
		looks = append(looks, func(ctx context.Context) { t.watch(ctx, one) })
	}
	return looks
}

// inARow is how many rounds failed in a row, after one of which something was served.
func inARow(failures int, served bool, err error) int {
	switch {
	case err == nil:
		return 0
	case served:
		return 1
	}
	return failures + 1
}

// watch asks one tracker for news, again and again. A tracker that fails is said once,
// and left alone for longer each time in which it did nothing at all: one behind a
// network that loses things is not as good as away.
func (t *All) watch(ctx context.Context, one *followed) {
	failures, said := 0, ""
	begun := sync.OnceFunc(one.sync.Begin())
	defer begun()
	for {
		served := one.sync.Served()
		err := one.sync.Once(ctx)
		begun()
		if ctx.Err() != nil {
			return
		}
		if failures = inARow(failures, one.sync.Served() > served, err); err == nil {
			said = ""
			one.asked(t.env.Now(), t.env.Now(), 0, nil)
		} else if body := err.Error(); body != said {
			said = body
			t.env.Log.Warn("the tracker cannot be read or told", "tracker", one.set.Name, "err", text.Harmless(body), "fix", wayOut(one.set, err))
		}
		if one.goal.Poke != nil {
			select {
			case one.goal.Poke <- struct{}{}: // the board may have a new issue
			default:
			}
		}
		poll := one.set.Poll
		if one.every != nil {
			poll = one.every()
		}
		wait := time.NewTimer(tracker.Wait(poll, failures, err))
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

// HooksAt is where webhooks of trackers come in.
const HooksAt = "POST /hooks/{tracker}"

// ServeHTTP answers a webhook of the tracker that the address names, where it has a
// secret.
func (t *All) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	at := slices.IndexFunc(t.list, func(one *followed) bool {
		return one.set.Name == r.PathValue("tracker") && one.set.Webhook.Value != ""
	})
	var one *followed
	if at >= 0 {
		one = t.list[at]
	}
	t.mu.Unlock()
	if one == nil {
		http.NotFound(w, r)
		return
	}
	one.hooks().ServeHTTP(w, r)
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
