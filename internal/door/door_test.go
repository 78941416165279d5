package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"charm.land/log/v2"
	"go.uber.org/goleak"

	"forge/factory/web"
	"forge/gates"
	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// wall is a place that stands in memory: messages by ref, and what goes wrong next.
type wall struct {
	mu    sync.Mutex
	cards map[string]Card
	order []string
	edits int
	fails []error
	lost  bool // the next message is posted, and nobody hears that it was
	blind bool // it finds nothing
}

func (w *wall) Key() string { return "wall 1" }

func (w *wall) fail() error {
	if len(w.fails) == 0 {
		return nil
	}
	err := w.fails[0]
	w.fails = w.fails[1:]
	return err
}

func (w *wall) Post(_ context.Context, c Card) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fail(); err != nil {
		return "", err
	}
	ref := fmt.Sprintf("m%d", len(w.order)+1)
	w.cards[ref], w.order = c, append(w.order, ref)
	if w.lost {
		w.lost = false
		return "", &Trouble{Err: errors.New("cut off"), All: true}
	}
	return ref, nil
}

func (w *wall) Edit(_ context.Context, ref string, c Card) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fail(); err != nil {
		return err
	}
	if _, ok := w.cards[ref]; !ok {
		return &Trouble{Err: errors.New("not there"), Sure: true, Gone: true}
	}
	w.cards[ref] = c
	w.edits++
	return nil
}

func (w *wall) Find(_ context.Context, subject string, _ time.Time) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ref, c := range w.cards {
		if c.Subject == subject && !w.blind {
			return ref, nil
		}
	}
	return "", nil
}

// of are the messages about a subject.
func (w *wall) of(subject string) (refs []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ref := range w.order {
		if c, ok := w.cards[ref]; ok && c.Subject == subject {
			refs = append(refs, ref)
		}
	}
	return refs
}

// one is the only message about a subject.
func (w *wall) one(t *testing.T, subject string) (string, Card) {
	t.Helper()
	refs := w.of(subject)
	if len(refs) != 1 {
		t.Fatalf("%d messages about %s, want one", len(refs), subject)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return refs[0], w.cards[refs[0]]
}

// world is a project with a run that asks, and a wall.
type world struct {
	*testing.T
	p     *project.Checkout
	wall  *wall
	now   time.Time
	roles map[string]web.Person
	log   *strings.Builder
}

func asked(id string, change func(*work.Checkpoint)) work.Checkpoint {
	cp := work.Checkpoint{ID: id, Run: "run", Kind: string(gates.PointFinal), Question: "Land it?", Revision: 1, Hash: "h", Policy: "p", Status: work.CheckpointPending, OpenedAt: noon}
	if change != nil {
		change(&cp)
	}
	return cp
}

func newWorld(t *testing.T, open ...work.Checkpoint) *world {
	t.Helper()
	store, err := journal.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w := &world{T: t, wall: &wall{cards: map[string]Card{}}, now: noon, log: &strings.Builder{}}
	w.p = &project.Checkout{Env: project.Env{Log: log.New(w.log), Now: func() time.Time { return w.now }, Environ: []string{"A_TOKEN=hush-hush-hush"}}, Journal: store}
	w.roles = map[string]web.Person{
		"U1": {Name: "ann", Roles: map[string]web.Role{"*": web.RoleOperator}},
		"U2": {Name: "bob", Roles: map[string]web.Role{"demo": web.RoleReviewer}},
		"U3": {Name: "eve", Roles: map[string]web.Role{"demo": web.RoleViewer, "other": web.RoleAdmin}},
		"U4": {Name: "gone"},
	}
	lease, err := store.CreateRun(t.Context(), "run", journal.Self())
	if err == nil {
		err = store.Append(t.Context(), lease, journal.Append{
			Events: []work.Event{{V: work.EventVersion, Seq: 1, Time: noon, Run: "run", Kind: work.RunStarted}}, Open: open, Status: &journal.Status{Outcome: work.RunFrozen},
		})
	}
	if err == nil {
		err = lease.Release(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// door is the door as a new process opens it.
func (w *world) door() *Door {
	people := func(id string) (web.Person, bool, error) {
		p, ok := w.roles[id]
		return p, ok, nil
	}
	return New(w.p, Config{Name: "slack", Project: "demo", Place: w.wall, People: people, Pages: "https://forge.example.com"})
}

// pass is one look of a new process.
func (w *world) pass() {
	w.Helper()
	if err := w.door().Pass(w.Context()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) status(id string) work.Checkpoint {
	w.Helper()
	cp, err := approval.Exact(w.Context(), w.p, id)
	if err != nil {
		w.Fatal(err)
	}
	return cp
}

// press presses the button that begins with a label.
func (w *world) press(by, subject, label string) Said {
	w.Helper()
	ref, c := w.wall.one(w.T, subject)
	for _, b := range c.Buttons {
		if strings.HasPrefix(b.Label, label) {
			return Said{ID: "press", By: by, Ref: ref, Press: &b.Press}
		}
	}
	w.Fatalf("no button %q: %+v", label, c.Buttons)
	return Said{}
}

// A question is posted once however many processes look, and says how it was
// answered, without buttons, when it was answered elsewhere.
func TestPostedOnceAndEdited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asked("run.1", nil))
	for range 3 {
		w.pass()
	}
	_, c := w.wall.one(t, "question run.1")
	if c.Title != "Land it?" || len(c.Buttons) != 3 || c.Link != "https://forge.example.com/p/demo/checkpoints/run.1" || w.wall.edits != 0 {
		t.Errorf("%+v, edited %d times", c, w.wall.edits)
	}
	if _, c := w.wall.one(t, "run run"); !strings.Contains(fmt.Sprint(c.Facts), "waits for 1 answer") {
		t.Errorf("the run: %+v", c)
	}
	_, _, err := approval.Give(t.Context(), w.p, work.Answer{Checkpoint: "run.1", Status: work.CheckpointApproved, By: "dan", Door: "web", At: noon}, approval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.pass()
	}
	_, c = w.wall.one(t, "question run.1")
	if len(c.Buttons) != 0 || !strings.Contains(fmt.Sprint(c.Facts), "approved, answered by dan on the page") {
		t.Errorf("when it was answered: %+v", c)
	}
	if w.wall.edits != 2 { // the question and the run
		t.Errorf("edited %d times, want 2", w.wall.edits)
	}
}

// A process that dies between a message and its record leaves a message that the
// next one finds. Where the place does not show it, it is repeated once, and both
// together take one answer.
func TestKilledBetweenPostAndRecord(t *testing.T) {
	t.Parallel()
	for _, blind := range []bool{false, true} {
		w := newWorld(t, asked("run.1", nil))
		w.pass()
		ref, c := w.wall.one(t, "question run.1")
		post, _, err := w.p.Journal.PostOf(t.Context(), "wall 1", "question run.1")
		if err == nil { // as if it had died before it could write this down
			post.Ref, post.Shown = "", ""
			err = w.p.Journal.KeepPost(t.Context(), post)
		}
		if err != nil {
			t.Fatal(err)
		}
		early := Said{By: "U1", Ref: ref, Press: &c.Buttons[0].Press}
		w.wall.blind = blind
		for range 3 {
			w.pass()
		}
		want := 1
		if blind {
			want = 2
		}
		if refs := w.wall.of("question run.1"); len(refs) != want {
			t.Fatalf("blind %v: %d messages, want %d", blind, len(refs), want)
		}
		d, done := w.door(), 0
		for _, ref := range w.wall.of("question run.1") {
			early.Ref = ref
			if r := d.Hear(t.Context(), early); r.Done && r.Text != "" {
				done++
			}
		}
		if cp := w.status("run.1"); done != 1 || cp.Status != work.CheckpointApproved || cp.AnsweredBy != "ann" {
			t.Errorf("blind %v: %d answers counted: %+v", blind, done, cp)
		}
		inbox, err := w.p.Journal.Inbox(t.Context(), "run")
		if err != nil || len(inbox) != 1 {
			t.Errorf("blind %v: %d answers in the inbox, %v", blind, len(inbox), err)
		}
	}
}

// A message that was posted, and of which nobody heard that it was, is found.
func TestAnswerOfThePlaceIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asked("run.1", nil))
	w.wall.lost = true // of the first message, which is the run's
	d := w.door()
	if err := d.Pass(t.Context()); err == nil {
		t.Fatal("a lost answer is no trouble")
	}
	if err := d.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wall.one(t, "run run")
	w.wall.one(t, "question run.1")
}

// What the place does not carry out is tried again, what it does not take as it is
// holds up nothing else, and what a person took away stays away.
func TestTroubles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asked("run.1", nil), asked("run.2", nil))
	d := w.door()
	w.wall.fails = []error{&Trouble{Err: errors.New("too often"), After: time.Minute, All: true, Sure: true}}
	var trouble *Trouble
	if err := d.Pass(t.Context()); !errors.As(err, &trouble) || trouble.After != time.Minute || len(w.wall.order) != 0 {
		t.Fatalf("asked too often: %v, posted %v", err, w.wall.order)
	}
	w.wall.fails = []error{nil, &Trouble{Err: errors.New("it is odd"), Sure: true}}
	for range 3 {
		if err := d.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.wall.one(t, "question run.2")
	if refs := w.wall.of("question run.1"); len(refs) != 0 || strings.Count(w.log.String(), "it is odd") != 1 {
		t.Errorf("what the place does not take: %v\n%s", refs, w.log)
	}
	w.pass() // another process tries again
	ref, _ := w.wall.one(t, "question run.1")

	delete(w.wall.cards, ref) // by a person
	if _, _, err := approval.Give(t.Context(), w.p, work.Answer{Checkpoint: "run.1", Status: work.CheckpointApproved, By: "dan", Door: "web", At: noon}, approval.Options{}); err != nil {
		t.Fatal(err)
	}
	w.pass()
	w.pass()
	if refs := w.wall.of("question run.1"); len(refs) != 0 {
		t.Errorf("what a person took away is back: %v", refs)
	}
	if words := w.log.String(); strings.Contains(words, "hush") {
		t.Errorf("a secret in the log: %s", words)
	}
}

// Who may answer is who the configuration names by id, with the roles of that user
// now; everybody else is told why not, and nothing follows.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asked("run.1", func(cp *work.Checkpoint) { cp.Who = gates.RoleReviewer }), asked("run.2", nil))
	w.pass()
	d, ctx := w.door(), t.Context()
	for by, want := range map[string]string{"U3": "may look at demo", "U4": "may look at demo"} {
		if r := d.Hear(ctx, w.press(by, "question run.1", "Approve")); r.Done || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %+v, want %q", by, r, want)
		}
	}
	if r := d.Hear(ctx, w.press("U2", "question run.2", "Approve")); r.Done || !strings.Contains(r.Text, "a owner may") && !strings.Contains(r.Text, "owner") {
		t.Errorf("a reviewer at the owner's question: %+v", r)
	}
	if r := d.Hear(ctx, w.press("U2", "question run.2", "Request changes")); r.Ask != "" || !strings.Contains(r.Text, "owner's") {
		t.Errorf("a reviewer is asked for words that do not count: %+v", r)
	}
	if r := d.Hear(ctx, w.press("U9", "question run.1", "Approve")); r.Done || !strings.Contains(r.Text, "does not know who you are") || !strings.Contains(r.Text, "U9") {
		t.Errorf("a stranger: %+v", r)
	}
	ref, _ := w.wall.one(t, "question run.1")
	for _, s := range []Said{w.press("U9", "question run.1", "Approve"), {By: "U9", Ref: ref, Words: "approve"}} {
		if r := w.door().Hear(ctx, s); r != (Reply{}) {
			t.Errorf("a stranger is told again: %+v", r)
		}
	}
	for _, id := range []string{"run.1", "run.2"} {
		if cp := w.status(id); cp.Status != work.CheckpointPending {
			t.Errorf("%s: %+v", id, cp)
		}
	}
	if r := d.Hear(ctx, w.press("U2", "question run.1", "Approve")); !r.Done {
		t.Errorf("a reviewer: %+v", r)
	}
	if cp := w.status("run.1"); cp.AnsweredBy != "bob" || cp.Door != "slack" || cp.Status != work.CheckpointApproved {
		t.Errorf("%+v", cp)
	}
	// What they may is what they may now.
	w.roles["U1"] = web.Person{Name: "ann"}
	if r := d.Hear(ctx, w.press("U1", "question run.2", "Approve")); r.Done {
		t.Errorf("a user who was removed: %+v", r)
	}
}

// A press twice is one answer and says nothing; a press of somebody else after it
// says who was first.
func TestPressedTwiceAndLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asked("run.1", nil))
	w.pass()
	d, ctx := w.door(), t.Context()
	yes, no := w.press("U1", "question run.1", "Approve"), w.press("U1", "question run.1", "Reject")
	if r := d.Hear(ctx, yes); !r.Done {
		t.Fatalf("%+v", r)
	}
	if r := d.Hear(ctx, yes); !r.Done || r.Text != "" {
		t.Errorf("the same once more: %+v", r)
	}
	if r := d.Hear(ctx, no); r.Done || r.Ask != "" || !strings.Contains(r.Text, "answered before: approved, answered by ann here") {
		t.Errorf("another answer: %+v", r)
	}
	no.Asked, no.Words = true, "why not"
	if r := d.Hear(ctx, no); r.Done || !strings.Contains(r.Text, "The first answer counts") {
		t.Errorf("a form that was open meanwhile: %+v", r)
	}
	if inbox, err := w.p.Journal.Inbox(ctx, "run"); err != nil || len(inbox) != 1 {
		t.Errorf("%d answers in the inbox, %v", len(inbox), err)
	}
}

// Words go with an answer where they are due; a button cannot be bent into another
// answer.
func TestWordsAndBentButtons(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asked("run.1", nil), asked("run.2", func(cp *work.Checkpoint) { cp.Revision = 2 }))
	w.pass()
	d, ctx := w.door(), t.Context()
	back := w.press("U1", "question run.1", "Request changes")
	if r := d.Hear(ctx, back); r.Ask != "Land it?" || !r.Due || r.Done {
		t.Fatalf("%+v", r)
	}
	back.Asked = true
	if r := d.Hear(ctx, back); r.Done || !strings.Contains(r.Text, "nothing said") {
		t.Errorf("without words: %+v", r)
	}
	back.Words = strings.Repeat("x", approval.MaxComment+1)
	if r := d.Hear(ctx, back); r.Done || !strings.Contains(r.Text, "Shorten") {
		t.Errorf("too many words: %+v", r)
	}
	good := *back.Press
	for name, bend := range map[string]func(*Press, *Said){
		"another choice":   func(p *Press, _ *Said) { p.Choice = "pivot" },
		"another answer":   func(p *Press, _ *Said) { p.Status = work.CheckpointExpired },
		"no words":         func(p *Press, _ *Said) { p.Words = NoWords },
		"another revision": func(p *Press, _ *Said) { p.Revision = 7 },
		"no revision":      func(p *Press, _ *Said) { p.Revision = 0 },
		"no checkpoint":    func(p *Press, _ *Said) { p.Checkpoint = "run" },
		"another message":  func(_ *Press, s *Said) { s.Ref = "m99" },
		"another question": func(p *Press, _ *Said) { p.Checkpoint = "run.2" },
	} {
		press, s := good, back
		s.Words = "rename it"
		bend(&press, &s)
		s.Press = &press
		if r := d.Hear(ctx, s); r.Done || r.Text == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, id := range []string{"run.1", "run.2"} {
		if cp := w.status(id); cp.Status != work.CheckpointPending {
			t.Fatalf("%s: %+v", id, cp)
		}
	}
	back.Press, back.Words = &good, " rename it "
	if r := d.Hear(ctx, back); !r.Done {
		t.Errorf("%+v", r)
	}
	if cp := w.status("run.1"); cp.Status != work.CheckpointChangesRequested || cp.Comment != "rename it" {
		t.Errorf("%+v", cp)
	}
}

// The question of an agent is answered by a choice, or by a reply; a reply that
// comes twice is one answer.
func TestQuestionOfAnAgent(t *testing.T) {
	t.Parallel()
	ask := func(cp *work.Checkpoint) {
		cp.Kind, cp.AnswerDue = "ckpt.question", true
		cp.Choices = []work.Choice{{Name: "1", Answer: work.CheckpointApproved, Label: "Tabs"}, {Name: "abort", Answer: work.CheckpointRejected, Label: "stop the run"}}
	}
	w := newWorld(t, asked("run.1", ask), asked("run.2", ask))
	w.pass()
	d, ctx := w.door(), t.Context()
	ref, c := w.wall.one(t, "question run.1")
	var labels []string
	for _, b := range c.Buttons {
		labels = append(labels, b.Label)
	}
	if got := strings.Join(labels, ", "); got != "Tabs, In your own words…" {
		t.Errorf("buttons: %s", got)
	}
	reply := Said{ID: "5.5", By: "U1", Ref: ref, Words: "spaces, four of them"}
	for range 2 {
		if r := d.Hear(ctx, reply); r.Text != "" && !strings.Contains(r.Text, "forge resume") {
			t.Errorf("%+v", r)
		}
	}
	if cp := w.status("run.1"); cp.Status != work.CheckpointApproved || cp.Comment != "spaces, four of them" || cp.Choice != "" {
		t.Errorf("%+v", cp)
	}
	if r := d.Hear(ctx, Said{ID: "6.2", By: "U2", Ref: ref, Words: "spaces"}); r.Done || !strings.Contains(r.Text, "answered before") {
		t.Errorf("while it still looks open: %+v", r)
	}
	if r := d.Hear(ctx, w.press("U1", "question run.2", "Tabs")); !r.Done {
		t.Errorf("%+v", r)
	}
	w.pass()
	if _, c := w.wall.one(t, "question run.2"); !strings.Contains(fmt.Sprint(c.Facts), "Tabs, answered by ann here") {
		t.Errorf("%+v", c)
	}
	// Who wrote while somebody else was quicker is told so; no agent is told what
	// was meant as an answer.
	ref, _ = w.wall.one(t, "question run.2")
	if r := d.Hear(ctx, Said{ID: "6.1", By: "U2", Ref: ref, At: noon.Add(-time.Second), Words: "spaces"}); r.Done || !strings.Contains(r.Text, "answered before") {
		t.Errorf("written before the answer: %+v", r)
	}
	if inbox, err := w.p.Journal.Inbox(ctx, "run"); err != nil || len(inbox) != 2 {
		t.Errorf("%d answers in the inbox, %v", len(inbox), err)
	}
}

// When its time is over a question says so, and no answer counts.
func TestTimeIsOver(t *testing.T) {
	t.Parallel()
	end := noon.Add(time.Hour)
	w := newWorld(t, asked("run.1", func(cp *work.Checkpoint) { cp.ExpiresAt = &end }))
	d := w.door()
	if err := d.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	yes := w.press("U1", "question run.1", "Approve")
	w.now = end
	if err := d.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, c := w.wall.one(t, "question run.1"); len(c.Buttons) != 0 || !strings.Contains(c.Foot, "time is over") {
		t.Errorf("%+v", c)
	}
	if r := d.Hear(t.Context(), yes); r.Done || !strings.Contains(r.Text, "time of this question is over") {
		t.Errorf("%+v", r)
	}
	if cp := w.status("run.1"); cp.AnsweredBy != "" {
		t.Errorf("%+v", cp)
	}
}

// What others wrote is posted without secrets, and as much of it as there is room
// for.
func TestCardsAreClean(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asked("run.1", func(cp *work.Checkpoint) {
		cp.Question = "Is hush-hush-hush fine?"
		cp.Facts = strings.Repeat("hush-hush-hush \x1b[31m", 1000)
	}))
	w.pass()
	_, c := w.wall.one(t, "question run.1")
	if all := fmt.Sprint(c); strings.Contains(all, "hush") || strings.Contains(all, "\x1b") || len(all) > 6000 {
		t.Errorf("%d bytes: %s", len(all), all)
	}
}

// A place that nobody can listen at any more hears nothing, and one journal has one
// door.
func TestDoorsOpenAndShut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asked("run.1", nil))
	w.p.Log = log.New(io.Discard)
	var all Doors
	listening, ended := make(chan struct{}), make(chan struct{})
	listen := func(ctx context.Context) {
		close(listening)
		<-ctx.Done()
		close(ended)
	}
	d := w.door()
	keep := all.Add(d, listen, alone)
	if keep == nil || all.Add(w.door(), listen, alone) != nil {
		t.Fatal("one journal has no door, or two")
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		keep(ctx)
	}()
	<-listening
	cancel() // what is due is posted all the same
	<-over
	<-ended
	yes := w.press("U1", "question run.1", "Approve")
	if r := all.Hear(t.Context(), yes); r.Done || !strings.Contains(r.Text, "not worked on here") {
		t.Errorf("through a door that is shut: %+v", r)
	}
	if r := d.Hear(t.Context(), yes); r.Done || !strings.Contains(r.Text, "is ending") {
		t.Errorf("at a door that is shut: %+v", r)
	}
	if cp := w.status("run.1"); cp.Status != work.CheckpointPending {
		t.Errorf("%+v", cp)
	}
}

// Who answers a message before it is written down is heard: people are quick, and
// the process that posted it may have died.
func TestHeardBeforeItIsWrittenDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asked("run.1", func(cp *work.Checkpoint) { cp.Kind, cp.AnswerDue = "ckpt.question", true }))
	w.pass()
	ref, _ := w.wall.one(t, "question run.1")
	post, _, err := w.p.Journal.PostOf(t.Context(), "wall 1", "question run.1")
	if err == nil {
		post.Ref, post.Shown = "", ""
		err = w.p.Journal.KeepPost(t.Context(), post)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all Doors
	all.Add(w.door(), nil, alone)
	if r := all.Hear(t.Context(), Said{ID: "5.5", By: "U1", Ref: "elsewhere", Words: "lunch?"}); r != (Reply{}) {
		t.Errorf("people talk of something else: %+v", r)
	}
	if r := all.Hear(t.Context(), Said{ID: "5.6", By: "U1", Ref: ref, Words: "spaces"}); !r.Done {
		t.Errorf("%+v", r)
	}
	if cp := w.status("run.1"); cp.Comment != "spaces" {
		t.Errorf("%+v", cp)
	}
}

// alone lets a door post where there is no other process.
func alone(loop func(context.Context)) func(context.Context) { return loop }
