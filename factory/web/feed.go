package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/internal/work"
)

const (
	// pollEvery is how often a project that somebody looks at is asked what is
	// new there; changes made through this server are heard of at once.
	pollEvery = 25 * time.Millisecond
	// followOn is how long a project is followed after the last page of it was
	// asked for and nobody listens.
	followOn = 10 * time.Second
	// linesAtOnce is how much of a board's history is read at a time.
	linesAtOnce = 500
)

// feeds tell the hub what happens in the projects that somebody looks at. A
// project that nobody looks at is not asked.
type feeds struct {
	server *Server

	mu      sync.Mutex
	running map[string]*feed
	done    sync.WaitGroup
}

// feed follows one project while there are listeners.
type feed struct {
	server  *Server
	project Project
	poke    chan struct{}

	lastAsked time.Time // under feeds.mu

	version    int64            // of the journal when it was looked at last
	line       int64            // of the board's history that was told of last
	runs       map[string]int64 // last event that was told of
	stirred    bool             // some issue may wait for a person, or not any more
	stuck      string           // issues that need a person, when they were looked at last
	stuckCount int
	floor      floorSeen
	desk       *string // what waited when it was told of last; nil = not looked yet
}

// follow begins to follow the projects of these topics that nobody looked at
// so far.
func (f *feeds) follow(ctx context.Context, topics []string) error {
	for _, t := range topics {
		id, _, _ := strings.Cut(t, "/")
		p, err := f.server.Site.Project(ctx, id)
		if err == nil {
			err = f.begin(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *feeds) begin(p Project) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.running[p.ID]; one != nil {
		one.lastAsked = f.server.Now()
		return nil
	}
	if p.Watch == nil || f.server.isStopped() {
		return nil
	}
	one := &feed{server: f.server, project: p, poke: make(chan struct{}, 1), runs: map[string]int64{}, lastAsked: f.server.Now()}
	var err error
	if one.line, err = p.Watch.BoardEnd(context.Background()); err != nil {
		return fmt.Errorf("follow project %s: %w", p.ID, err)
	}
	// What the page is about to show is what others are told apart from.
	if err := one.lookAtFloor(context.Background()); err != nil {
		return fmt.Errorf("follow project %s: %w", p.ID, err)
	}
	if f.running == nil {
		f.running = map[string]*feed{}
	}
	f.running[p.ID] = one
	f.done.Go(func() { one.run() })
	return nil
}

// end stops following id unless somebody listens, or was given a page a moment
// ago and is about to.
func (f *feeds) end(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.running[id]
	if !f.server.isStopped() && (f.server.hub.listens(id) || f.server.Now().Sub(one.lastAsked) < followOn) {
		return false
	}
	delete(f.running, id)
	return true
}

// poked says that this server changed a project: it is looked at at once.
func (f *feeds) poked(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.running[id]; one != nil {
		select {
		case one.poke <- struct{}{}:
		default:
		}
	}
}

func (f *feeds) wait() { f.done.Wait() }

func (s *Server) isStopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// run looks until nobody listens.
func (f *feed) run() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-f.server.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	said := ""
	for {
		select {
		case <-f.server.stop:
			f.server.feeds.end(f.project.ID)
			return
		case <-f.poke:
		case <-tick.C:
			if f.server.feeds.end(f.project.ID) {
				return
			}
		}
		err := f.look(ctx)
		if text := fmt.Sprint(err); err != nil && ctx.Err() == nil && text != said {
			// Once: it would be said ten times a second.
			f.server.Log.Error("a project cannot be followed", "project", f.project.ID, "err", err)
			said = text
		}
	}
}

// look tells of all that is new.
func (f *feed) look(ctx context.Context) error {
	version, err := f.project.Watch.Version(ctx)
	if err != nil {
		return err
	}
	if version == f.version {
		if err := f.lookAtNewRuns(ctx); err != nil {
			return err
		}
		if f.floor.due {
			return f.lookAtFloor(ctx)
		}
		return nil
	}
	if err := errors.Join(f.lookAtBoard(ctx), f.lookAtRuns(ctx), f.lookAtDesk(ctx), f.lookAtFloor(ctx)); err != nil {
		return err
	}
	f.version = version
	return nil
}

func (f *feed) lookAtBoard(ctx context.Context) error {
	for {
		lines, err := f.project.Watch.BoardLines(ctx, f.project.Board.Project, f.line, linesAtOnce)
		if err != nil {
			return err
		}
		for _, e := range lines {
			if err := f.tell(ctx, e); err != nil {
				return err
			}
			f.line = e.Seq
		}
		if len(lines) < linesAtOnce {
			return nil
		}
	}
}

// boardMessage is what a page hears of a board: an issue's card as it is now.
type boardMessage struct {
	Issue  int64            `json:"issue"` // 0 = load the board again
	Line   int64            `json:"line,omitempty"`
	Action work.IssueAction `json:"action"`
	By     string           `json:"by,omitempty"`
	// From is the column that it came from, "" = the one where it is; new
	// issues came from "none".
	From string `json:"from,omitempty"`
	*shownCard
}

// tell tells of one line of the board's history.
func (f *feed) tell(ctx context.Context, e work.IssueEntry) error {
	m := boardMessage{Issue: e.Issue, Line: e.Seq, Action: e.Action, By: e.By}
	if e.Action == work.IssueAdded {
		m.From = "none"
	}
	ended := false
	for _, c := range e.Fields {
		f.stirred = f.stirred || stirs(c)
		if c.Field == "column" {
			m.From = c.From
			ended = c.From == string(work.ColumnDone) || c.To == string(work.ColumnDone)
		}
	}
	if e.Issue == 0 {
		return f.publish(m)
	}
	if err := f.tellCard(ctx, m); err != nil || !ended {
		return err
	}
	// Who needs it is not blocked by it any more, or is again.
	list, err := f.project.Cards.Dependents(ctx, f.project.Board.Project, e.Issue)
	if err != nil {
		return err
	}
	for _, id := range list {
		if err := f.tellCard(ctx, boardMessage{Issue: id, Action: e.Action}); err != nil {
			return err
		}
	}
	return nil
}

func (f *feed) tellCard(ctx context.Context, m boardMessage) error {
	card, err := f.server.card(ctx, f.project, m.Issue)
	if err != nil {
		return err
	}
	m.shownCard = &card
	return f.publish(m)
}

func (f *feed) publish(m boardMessage) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write a board's message: %w", err)
	}
	f.server.hub.Publish(BoardTopic(f.project.ID), string(data))
	return nil
}

// lookAtRuns tells of the runs that somebody looks at.
// lookAtNewRuns tells those of their run who have just begun to listen: what
// happened since their page was made, nobody was told.
func (f *feed) lookAtNewRuns(ctx context.Context) error {
	for _, topic := range f.server.hub.topics(f.project.ID + "/run/") {
		if _, known := f.runs[strings.TrimPrefix(topic, f.project.ID+"/run/")]; !known {
			return f.lookAtRuns(ctx)
		}
	}
	return nil
}

func (f *feed) lookAtRuns(ctx context.Context) error {
	topics := f.server.hub.topics(f.project.ID + "/run/")
	maps.DeleteFunc(f.runs, func(run string, _ int64) bool { return !slices.Contains(topics, RunTopic(f.project.ID, run)) })
	for _, topic := range topics {
		run := strings.TrimPrefix(topic, f.project.ID+"/run/")
		end, err := f.project.Watch.RunEnd(ctx, run)
		if err != nil {
			return err
		}
		if was, known := f.runs[run]; known && was == end {
			continue
		}
		f.runs[run] = end
		f.server.hub.Publish(topic, fmt.Sprintf(`{"event":%d}`, end))
	}
	return nil
}

// lookAtDesk tells that something else waits than before.
func (f *feed) lookAtDesk(ctx context.Context) error {
	if f.project.Questions == nil {
		return nil
	}
	list, err := f.project.Questions.Checkpoints(ctx, "", work.CheckpointPending, mostWaiting, "")
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, cp := range list {
		fmt.Fprintf(&b, "%s/%d/%d/%d/%d ", cp.ID, cp.Revision, len(cp.Verdicts), len(cp.Comments), cp.CommentsGiven)
	}
	first := f.desk == nil
	if first || f.stirred {
		stuck, err := f.server.stuck.of(ctx, f.project)
		if err != nil {
			return err
		}
		var s strings.Builder
		for _, i := range stuck {
			fmt.Fprintf(&s, "#%d %s %s ", i.ID, i.State, i.Reason)
		}
		f.stuck, f.stuckCount, f.stirred = s.String(), len(stuck), false
	}
	drafts, err := drafted(ctx, f.project)
	if err != nil {
		return err
	}
	for _, d := range drafts {
		fmt.Fprintf(&b, "%s %s %s ", d.ID, d.State, d.Question)
	}
	now := b.String() + f.stuck
	if !first && *f.desk == now {
		return nil
	}
	f.desk = &now
	f.server.hub.Publish(QuestionsTopic(f.project.ID), fmt.Sprintf(`{"waiting":%d}`, len(list)+f.stuckCount+len(drafts)))
	if first {
		return nil
	}
	// Cards say what waits, too.
	return f.publish(boardMessage{Action: "waiting"})
}
