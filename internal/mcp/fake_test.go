package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/factory"
	"forge/factory/web"
	"forge/gates"
	"forge/internal/journal/journaltest"
	"forge/internal/search"
	"forge/internal/token"
	"forge/internal/work"
	"forge/orchestrator"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// fake is a project in memory. Everything that can be read of it holds a mark of
// the project, run and phase that it is of.
type fake struct {
	id   string
	runs []string // ids, the newest first

	mu      sync.Mutex
	changed []string // what was changed, with a mark
	points  map[string]work.Checkpoint
	version int64
	last    map[string]string // by run and phase: its last snapshot
	said    map[string][]work.Turn
	files   map[string]string // by commit and path
}

// phases are those of every run.
var phases = []string{"1", "2"}

func mark(project, run, phase string) string {
	return fmt.Sprintf("mark:%s/%s/%s;", project, run, phase)
}

// newFake is a project with runs r1 and r2 and a job j1. Runs of all projects
// have other ids, as those of real ones do.
func newFake(t *testing.T, id string) (*fake, web.Project) {
	t.Helper()
	f := &fake{id: id, runs: []string{id + "-r2", id + "-r1", id + "-j1"}, points: map[string]work.Checkpoint{}, last: map[string]string{}, said: map[string][]work.Turn{}, files: map[string]string{}}
	for _, run := range f.runs {
		for _, phase := range append([]string{""}, phases...) {
			cp := work.Checkpoint{
				ID: run + ".q" + phase, Run: run, Phase: phase, Kind: "final", Revision: 1, Question: mark(id, run, phase) + "Is it good?",
				Status: work.CheckpointPending, OpenedAt: noon,
			}
			f.points[cp.ID] = cp
		}
		for _, phase := range phases {
			f.last[run+phase] = "to-" + run + "-" + phase
		}
	}
	board := &journaltest.MemoryBoard{}
	if err := board.PutProject(t.Context(), work.BoardProject{ID: id, Root: "/" + id, Created: noon}); err != nil {
		t.Fatal(err)
	}
	p := web.Project{
		ID: id, Root: "/" + id, Board: factory.Board{Store: board, Project: id, Now: clock}, Cards: fakeCards{nil, board},
		Runs: fakeRuns{nil, f}, Questions: fakeDesk{nil, f}, Code: fakeCode{f}, Cockpit: fakeCockpit{nil, f}, Jobs: fakeJobs{nil, f}, Watch: fakeWatch{nil, f}, Spans: fakeSpans{f},
		Search: fakeSearch{f},
	}
	if _, err := p.Board.Add(t.Context(), work.Issue{Title: mark(id, "", ""), Priority: work.PriorityNormal, Column: work.ColumnBacklog}, factory.Place{At: factory.Bottom}, factory.By{Name: "olga", Door: "cli"}); err != nil {
		t.Fatal(err)
	}
	return f, p
}

func (f *fake) change(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = append(f.changed, what)
	f.version++
}

// The ports by other names, so that a fake may leave out what nobody calls.
type (
	anyRuns    interface{ web.Runs }
	anyDesk    interface{ web.Questions }
	anyCockpit interface{ web.Cockpit }
	anyJobs    interface{ web.Jobs }
	anyWatch   interface{ web.Watch }
	anyCards   interface{ web.Cards }
)

type fakeRuns struct {
	anyRuns
	*fake
}

func (f fakeRuns) row(id string) web.Run {
	return web.Run{ID: id, Job: strings.HasSuffix(id, "-j1"), State: "running", Created: noon, Updated: noon}
}

func (f fakeRuns) Runs(_ context.Context, limit int, after string) ([]web.Run, error) {
	var out []web.Run
	for _, id := range f.runs[1+slices.Index(f.runs, after):] {
		if len(out) < limit {
			out = append(out, f.row(id))
		}
	}
	return out, nil
}

func (f fakeRuns) Run(_ context.Context, id string) (web.Run, error) {
	if !slices.Contains(f.runs, id) {
		return web.Run{}, fmt.Errorf("run %s: %w", id, fs.ErrNotExist)
	}
	return f.row(id), nil
}

func (f fakeRuns) State(_ context.Context, run string) (*orchestrator.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := &orchestrator.State{
		Run: run, Reason: mark(f.id, run, ""), Head: "head-" + run, Order: phases, Phases: map[string]*orchestrator.Phase{},
		Spec: orchestrator.Spec{Policy: gates.Policy{Preset: "review"}, Branch: "forge/run-" + run, Base: work.Base{Commit: "base"}},
	}
	if strings.HasSuffix(run, "-j1") {
		st.Spec.Job, st.Job = &work.Job{Description: mark(f.id, run, "")}, &orchestrator.JobState{}
	}
	for _, n := range phases {
		m := mark(f.id, run, n)
		st.Phases[n] = &orchestrator.Phase{View: orchestrator.View{
			Number:    n,
			Plan:      work.Phase{Number: n, Name: fmt.Sprintf("plan:%s/%s;", f.id, run)},
			Stage:     orchestrator.StageIterate,
			Ending:    orchestrator.Ending{Detail: m},
			Counting:  orchestrator.Counting{Iteration: 1, Begun: n == "1"},
			Workspace: orchestrator.Workspace{Base: "base", Last: f.last[run+n]},
			Judging:   orchestrator.Judging{Review: orchestrator.Review{Of: map[string]*orchestrator.Opinion{"security": {Verdict: work.VerdictFail, Why: m, Findings: []work.Finding{{Severity: work.SeverityMajor, File: "a.go", Line: 1, Issue: m}}}}}},
		}}
	}
	return st, nil
}

func (f fakeRuns) Events(_ context.Context, run string, after int64, limit int) ([]work.Event, error) {
	var out []work.Event
	for seq, phase := range []string{"", "1", "2", "1", "2"} {
		e := work.Event{V: 1, Seq: int64(seq + 1), Time: noon, Run: run, Phase: phase, Kind: work.PhaseStarted, Data: json.RawMessage(`"` + mark(f.id, run, phase) + `"`)}
		if e.Seq > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f fakeRuns) Conversation(_ context.Context, run, phase string, iteration, _, _ int) ([]work.Turn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if said := f.said[run+phase]; said != nil {
		return said, nil
	}
	return []work.Turn{{Kind: work.TurnSaid, Text: fmt.Sprintf("%s iteration %d", mark(f.id, run, phase), iteration)}}, nil
}

type fakeDesk struct {
	anyDesk
	*fake
}

func (f fakeDesk) Checkpoints(_ context.Context, run string, status work.CheckpointStatus, limit int, after string) ([]work.Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []work.Checkpoint
	for _, cp := range f.points {
		if (run == "" || cp.Run == run) && (status == "" || cp.Status == status) && cp.ID > after {
			out = append(out, cp)
		}
	}
	slices.SortFunc(out, func(a, b work.Checkpoint) int { return strings.Compare(a.ID, b.ID) })
	return out[:min(len(out), limit)], nil
}

func (f fakeDesk) Judged(_ context.Context, id string) (web.Judged, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cp, ok := f.points[id]
	if !ok {
		return web.Judged{}, work.ErrUnknown
	}
	return web.Judged{Checkpoint: cp, From: "base", To: "to-" + cp.Run + "-" + cp.Phase, Words: cp.Question}, nil
}

func (f fakeDesk) Answer(_ context.Context, a work.Answer, _ string) (work.Checkpoint, error) {
	f.mu.Lock()
	cp, ok := f.points[a.Checkpoint]
	f.mu.Unlock()
	if !ok {
		return cp, work.ErrUnknown
	}
	now, err := gates.Resolve(cp, a, a.At)
	if err != nil {
		return cp, err
	}
	f.change(mark(f.id, cp.Run, cp.Phase) + "answered by " + a.By + " through " + a.Door)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.points[cp.ID] = now
	return now, nil
}

func (f fakeDesk) Tell(_ context.Context, run string, m work.Message, by, door string) (work.Told, error) {
	f.change(mark(f.id, run, m.Phase) + "told " + m.Text + " by " + by + " through " + door)
	return work.Told{Run: run, Phase: m.Phase, ID: "m1", State: work.MessageQueued, Iteration: 2, Midway: m.Text == "while you work"}, nil
}

func (f fakeDesk) Rewind(_ context.Context, run string, r work.Rewind, by, door string) (work.Rewound, error) {
	f.change(mark(f.id, run, r.Phase) + "set back by " + by + " through " + door)
	return work.Rewound{Run: run, Phase: r.Phase, State: work.RewindQueued}, nil
}

type fakeCode struct{ *fake }

// of is the run and phase that a commit is of.
func (f fakeCode) of(commit string) string {
	rest := strings.TrimPrefix(commit, "to-")
	if at := strings.LastIndexByte(rest, '-'); rest != commit && at > 0 {
		return mark(f.id, rest[:at], rest[at+1:])
	}
	return mark(f.id, strings.TrimPrefix(commit, "head-"), "")
}

func (f fakeCode) Diff(_ context.Context, _, to string) (string, error) { return f.of(to) + "\n", nil }

func (f fakeCode) Files(_ context.Context, commit string) ([]string, error) {
	return []string{"a.go", f.of(commit)}, nil
}

func (f fakeCode) File(_ context.Context, commit, path string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text, ok := f.files[commit+":"+path]; ok {
		return []byte(text), nil
	}
	if path != "a.go" {
		return nil, fs.ErrNotExist
	}
	return []byte(f.of(commit)), nil
}

type fakeCockpit struct {
	anyCockpit
	*fake
}

func (fakeCockpit) Say(e work.Event) (string, [][2]string, error) { return string(e.Data), nil, nil }

func (f fakeCockpit) Papers(_ context.Context, run string) (web.Papers, error) {
	return web.Papers{Plan: fmt.Sprintf("plan:%s/%s;", f.id, run), Workspace: mark(f.id, run, ""), Todos: []web.Todo{{Title: mark(f.id, run, ""), State: "open"}}}, nil
}

type fakeJobs struct {
	anyJobs
	*fake
}

func (f fakeJobs) Start(_ context.Context, o web.JobOrder) (string, error) {
	f.change(mark(f.id, "", "") + "job by " + o.By)
	return f.id + "-j2", nil
}

func (fakeJobs) Experts(context.Context) ([]string, error) { return []string{"coder"}, nil }
func (fakeJobs) Sources(context.Context) ([]string, error) { return []string{"wiki"}, nil }

type fakeWatch struct {
	anyWatch
	*fake
}

func (f fakeWatch) Version(context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, nil
}

func (f fakeWatch) RunEnd(context.Context, string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return 5 + f.version, nil
}

type fakeSpans struct{ *fake }

func (f fakeSpans) Spans(_ context.Context, run string, of web.Part) ([]web.Span, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []web.Span{{From: "base", To: f.last[run+of.Phase], Title: "phase " + of.Phase}}, nil
}

type fakeCards struct {
	anyCards
	board *journaltest.MemoryBoard
}

func (c fakeCards) Issue(ctx context.Context, project string, id int64) (work.Issue, error) {
	return c.board.Issue(ctx, project, id)
}

func (c fakeCards) Issues(ctx context.Context, f work.IssueFilter, limit int, after string) ([]work.Issue, error) {
	return c.board.Issues(ctx, f, limit, after)
}

func (c fakeCards) IssueHistory(ctx context.Context, project string, id int64, limit int, before int64) ([]work.IssueEntry, error) {
	return c.board.IssueHistory(ctx, project, id, limit, before)
}

// client is a client of a server, with what was recorded of it.
type client struct {
	testing.TB
	*sdk.ClientSession
	server *Server

	mu      sync.Mutex
	records []Call
	asked   []work.Question // by the agent of a phase
	updated chan string     // addresses of resources that are other ones
}

// connect is a client of a server for a grant.
func connect(t *testing.T, p web.Project, g token.Grant, more ...func(*Config)) *client {
	t.Helper()
	c := &client{TB: t, updated: make(chan string, 100)}
	if g.Name == "" {
		g.Name = "editor"
	}
	g.By, g.Project = "olga", p.Root
	config := Config{
		Project: func(context.Context) (web.Project, error) { return p, nil }, Grant: g, Starts: true, Look: 5 * time.Millisecond,
		Now: clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Record: func(one Call) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.records = append(c.records, one)
			return nil
		},
	}
	for _, do := range more {
		do(&config)
	}
	var err error
	if c.server, err = New(config); err != nil {
		t.Fatal(err)
	}
	here, there := sdk.NewInMemoryTransports()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = c.server.Run(context.WithoutCancel(t.Context()), here) // it says that the client went
	}()
	if c.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *sdk.ResourceUpdatedNotificationRequest) { c.updated <- req.Params.URI },
	}).Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.ClientSession.Close()
		c.server.Close()
		<-served
	})
	return c
}

// ask calls a tool; refused is what it says instead of an answer.
func (c *client) ask(tool string, args map[string]any) (said, refused string) {
	c.Helper()
	out, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err.Error()
	}
	for _, part := range out.Content {
		if t, ok := part.(*sdk.TextContent); ok {
			said += t.Text
		}
	}
	if out.IsError {
		return "", said
	}
	return said, ""
}

// follow subscribes to a resource and says whether the server took it. By newer
// protocols the client does not wait for that.
func (c *client) follow(address string) bool {
	c.Helper()
	c.mu.Lock()
	before := len(c.records)
	c.mu.Unlock()
	if err := c.Subscribe(context.Background(), &sdk.SubscribeParams{URI: address}); err != nil {
		return false
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		for _, one := range c.records[before:] {
			if one.Tool == "resources/subscribe" {
				c.mu.Unlock()
				return one.Refused == ""
			}
		}
		c.mu.Unlock()
	}
	c.Fatalf("nobody heard of the subscription to %s", address)
	return false
}

// fakeSearch finds every run and phase within what it is bound to.
type fakeSearch struct{ *fake }

func (f fakeSearch) Find(_ context.Context, s web.Sought) (search.Found, error) {
	var hits []search.Hit
	for _, run := range f.runs {
		for _, phase := range phases {
			if (s.Run == "" || s.Run == run) && (s.Phase == "" || s.Phase == phase) {
				hits = append(hits, search.Hit{Kind: search.KindEvent, Run: run, Phase: phase, Excerpt: mark(f.id, run, phase)})
			}
		}
	}
	return search.Found{Hits: hits}, nil
}
