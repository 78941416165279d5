package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"forge/factory/web"
	"forge/internal/work"
)

const (
	// mostStreams and mostStreamsEach bound the open streams.
	mostStreams     = 2000
	mostStreamsEach = 50
	// streamPage is how many lines of a board, or events of a run, are sent
	// under one id.
	streamPage = 500
	// patience is how long a reader may take for what is sent at once.
	patience = 30 * time.Second
)

// FollowEvents says what a stream is of.
type FollowEvents struct {
	Project string `query:"project" maxLength:"100" doc:"Only of this project."`
	Run     string `query:"run" maxLength:"100" doc:"Only of this run or job; goes with project."`
	From    string `query:"from" enum:"now,start" default:"now" doc:"Where to begin without a Last-Event-ID."`
	Last    string `header:"Last-Event-ID" maxLength:"65536" doc:"The id of the last event that was heard."`
}

// Stream is server-sent events.
type Stream struct {
	Body func(huma.Context)
}

// issueEvent and runEvent are the two kinds of events: a line of a board's
// history, and an event of a run's journal.
type issueEvent struct {
	Project string          `json:"project"`
	Entry   work.IssueEntry `json:"entry"`
}

type runEvent struct {
	Project string     `json:"project"`
	Event   work.Event `json:"event"`
}

// streams counts who listens.
type streams struct {
	mu     sync.Mutex
	each   map[string]int
	all    int
	closed bool
	done   sync.WaitGroup
}

func (s *streams) begin(who string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.all >= mostStreams || s.each[who] >= mostStreamsEach {
		return false
	}
	if s.each == nil {
		s.each = map[string]int{}
	}
	s.all++
	s.each[who]++
	s.done.Add(1)
	return true
}

func (s *streams) end(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.each[who]--; s.each[who] == 0 {
		delete(s.each, who)
	}
	s.done.Done()
}

// wait lets no more begin and waits for those that did.
func (s *streams) wait() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.done.Wait()
}

func (a *API) eventRoutes() {
	add(a, Route{ID: "follow-events", Method: http.MethodGet, Path: "/events", Role: web.RoleViewer, Tag: "events",
		Summary: "Boards' histories and runs' journals as server-sent events (issue, run). Each is sent at least once; seq tells repeated ones apart. An id stands at the last event of what was sent together"},
		func(c call, in *FollowEvents) (*Stream, error) {
			f, err := a.follow(c, in)
			if err != nil {
				return nil, err
			}
			return &Stream{Body: f.serve}, nil
		})
}

// follower is one open stream.
type follower struct {
	api     *API
	who     web.Person
	project string // "" = all that may be seen
	run     string // "" = all of them
	at      cursor
	heard   map[string]int64 // versions of the journals, up to which all was sent
}

func (a *API) follow(c call, in *FollowEvents) (*follower, error) {
	if in.Run != "" && in.Project == "" {
		return nil, invalid("query.run", "name its project as well")
	}
	f := &follower{api: a, who: c.who, project: in.Project, run: in.Run}
	projects, err := f.projects(c)
	if err != nil {
		return nil, err
	}
	if in.Project != "" && len(projects) == 0 {
		return nil, web.ErrNoProject
	}
	if in.Run != "" {
		if _, err := findRun(call{Context: c, project: projects[0]}, in.Run); err != nil {
			return nil, err
		}
	}
	if in.Last != "" {
		if f.at, err = readCursor(in.Last); err != nil {
			return nil, invalid("header.Last-Event-ID", "it is not the id of an event of this server")
		}
		return f, nil
	}
	f.at.fill()
	if in.From == "start" {
		return f, nil
	}
	f.at.Since = a.Now().UTC()
	for _, p := range projects {
		if f.at.Boards[p.ID], err = p.Watch.BoardEnd(c); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// projects are those that the stream is of and its reader may see now.
func (f *follower) projects(ctx context.Context) ([]web.Project, error) {
	all, err := f.api.Site.Projects(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(p web.Project) bool {
		return f.project != "" && p.ID != f.project || !f.who.May(p.ID, web.RoleViewer)
	}), nil
}

func (f *follower) serve(hc huma.Context) {
	r, w := humago.Unwrap(hc)
	if !f.api.streams.begin(f.who.Name) {
		f.api.fail(w, r, &Problem{Status: http.StatusTooManyRequests, Code: "too_many_requests", Detail: "Too many streams are open.", Fix: "Close one of them."})
		return
	}
	defer f.api.streams.end(f.who.Name)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	say := func(text string) error {
		// A writer without deadlines has none to be held to.
		_ = control.SetWriteDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		if err := control.Flush(); err != nil {
			return err
		}
		// By HTTP/2 a limit that passes ends the stream, also where nobody writes.
		_ = control.SetWriteDeadline(time.Time{})
		return nil
	}
	// The id at once: whoever is cut off before the first event misses none.
	err := say("retry: 2000\nid: " + f.at.String() + "\n\n")
	look, alive := time.NewTicker(f.api.Look), time.NewTicker(f.api.Beat)
	defer look.Stop()
	defer alive.Stop()
	ctx := r.Context()
	for err == nil {
		var text string
		if text, err = f.collect(ctx); err == nil && text != "" {
			err = say(text)
			continue
		}
		if err != nil {
			f.api.Log.Error("an event stream broke off", "err", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-f.api.stop:
			return
		case <-look.C:
		case <-alive.C:
			in, _, refused := f.api.Door.Enter(r, web.RoleViewer)
			if refused != nil {
				return
			}
			f.who = web.PersonOf(in.Context())
			err = say(":\n\n")
		}
	}
}

// collect is what happened after the cursor, a page of each, as events with one
// id at the end; "" when nothing did. It moves the cursor.
func (f *follower) collect(ctx context.Context) (string, error) {
	projects, err := f.projects(ctx)
	if err != nil {
		return "", err
	}
	var text []byte
	versions, same, err := f.versions(ctx, projects)
	if err != nil || same {
		return "", err
	}
	whole := true // nothing was left for the next page
	updated := map[string]time.Time{}
	now := f.api.Now().UTC()
	for _, p := range projects {
		if f.run == "" {
			lines, err := p.Watch.BoardLines(ctx, p.Board.Project, f.at.Boards[p.ID], streamPage)
			if err != nil {
				return "", err
			}
			for _, e := range lines {
				text = appendEvent(text, "issue", issueEvent{p.ID, e})
				f.at.Boards[p.ID] = e.Seq
			}
			whole = whole && len(lines) < streamPage
		}
		runs, err := f.api.seen.runs(ctx, p)
		if err != nil {
			return "", err
		}
		for _, r := range runs {
			if f.run != "" && r.ID != f.run {
				continue
			}
			key := runKey(p.ID, r.ID)
			updated[key] = r.Updated
			after, named := f.at.Runs[key]
			if !named && !r.Updated.After(f.at.Since) || len(text) > 1<<20 {
				whole = whole && len(text) <= 1<<20
				continue
			}
			news, all, err := f.newsOf(ctx, p, key, r.ID, after)
			if err != nil {
				return "", err
			}
			for _, e := range news {
				text = appendEvent(text, "run", runEvent{p.ID, e})
			}
			whole = whole && all
		}
	}
	if whole {
		f.heard = versions
		f.at.prune(now.Add(-time.Hour), updated)
	}
	if len(text) == 0 {
		return "", nil
	}
	// The id belongs to the last event: before its blank line.
	return string(text[:len(text)-1]) + "id: " + f.at.String() + "\n\n", nil
}

// versions are those of the projects' journals; same says that all of them were
// sent. They are read before what they stand for.
func (f *follower) versions(ctx context.Context, projects []web.Project) (now map[string]int64, same bool, err error) {
	now = map[string]int64{}
	for _, p := range projects {
		if now[p.ID], err = p.Watch.Version(ctx); err != nil {
			return nil, false, err
		}
	}
	return now, f.heard != nil && maps.Equal(now, f.heard), nil
}

// newsOf is a page of a run's news, and whether that is all of them. Pages in
// which everything is old are passed over.
func (f *follower) newsOf(ctx context.Context, p web.Project, key, run string, after int64) (news []work.Event, all bool, err error) {
	for {
		events, err := p.Runs.Events(ctx, run, after, streamPage)
		if err != nil {
			return nil, false, err
		}
		all := len(events) < streamPage
		if news := f.at.news(key, events); len(news) > 0 || all {
			return news, all, nil
		}
		after = events[len(events)-1].Seq
	}
}

func appendEvent(text []byte, kind string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte("null")
	}
	return fmt.Appendf(text, "event: %s\ndata: %s\n\n", kind, data)
}

// seen remembers what runs a project has while nothing is written: a thousand streams look
// once.
type seen struct {
	mu   sync.Mutex
	rows map[string]seenRuns
}

type seenRuns struct {
	version int64
	at      time.Time
	list    []web.Run
}

func (s *seen) runs(ctx context.Context, p web.Project) ([]web.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, err := p.Watch.Version(ctx)
	if err != nil {
		return nil, err
	}
	// That a run's process died is not written: what was seen is no older than
	// this.
	if was, ok := s.rows[p.ID]; ok && was.version == version && time.Since(was.at) < 10*time.Second {
		return was.list, nil
	}
	at := time.Now()
	const most = 100_000
	list, err := p.Runs.Runs(ctx, most, "")
	if err != nil {
		return nil, err
	}
	if s.rows == nil {
		s.rows = map[string]seenRuns{}
	}
	s.rows[p.ID] = seenRuns{version, at, list}
	return list, nil
}
