package tui

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"forge/gates"
	"forge/internal/pace"
	"forge/internal/work"
	"forge/orchestrator"
)

// desk is a person before a live view: what is open, what was answered, and
// what stands on the screen.
type desk struct {
	t       *testing.T
	m       *liveModel
	msgs    chan tea.Msg
	open    []question
	told    []orchestrator.CheckpointAnsweredData
	answers []work.Answer
	refuse  func(work.Answer) (work.Checkpoint, error)
	screen  string
	full    bool
}

func newDesk(t *testing.T, open ...work.Checkpoint) *desk {
	d := &desk{t: t, msgs: make(chan tea.Msg, 1000)}
	for _, cp := range open {
		d.open = append(d.open, question{Checkpoint: cp})
	}
	d.m = newLiveModel("ann", func() time.Time { return noon })
	d.m.width, d.m.height = 90, 24
	d.m.look = func() glimpse {
		g := glimpse{board: board{Questions: d.open, count: phaseCount{asked: len(d.open), running: 1}}, answered: d.told}
		d.told = nil
		return g
	}
	// Called beside the test, but only one of them at a time counts.
	d.m.answer = func(a work.Answer) (work.Checkpoint, error) {
		if d.refuse != nil {
			return d.refuse(a)
		}
		return work.Checkpoint{ID: a.Checkpoint, Status: a.Status}, nil
	}
	d.m.diff = func(question) (string, error) { return "", nil }
	d.m.show = func(lines []string, full bool, _ int) { d.screen, d.full = bare(lines), full }
	d.send(lookMsg{})
	return d
}

// send gives the model a message, and takes note of the answers it wants.
func (d *desk) send(msg tea.Msg) {
	if a, ok := msg.(answeredMsg); ok && a.err == nil {
		d.answers = append(d.answers, work.Answer{Checkpoint: a.id, Status: a.cp.Status})
		for i, q := range d.open {
			if q.Checkpoint.ID == a.id {
				d.open = append(d.open[:i:i], d.open[i+1:]...)
				break
			}
		}
	}
	_, cmd := d.m.Update(msg)
	d.run(cmd)
}

// run carries a command out beside the test; its messages come back in time.
func (d *desk) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		// Batches and sequences are lists of commands; one of the types is
		// not exported.
		if v := reflect.ValueOf(msg); v.IsValid() && v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
			for i := range v.Len() {
				d.run(v.Index(i).Interface().(tea.Cmd))
			}
			return
		}
		if msg != nil {
			d.msgs <- msg
		}
	}()
}

// until hands messages on until cond holds.
func (d *desk) until(what string, cond func() bool) {
	d.t.Helper()
	late := time.After(20 * time.Second)
	for !cond() {
		select {
		case msg := <-d.msgs:
			d.send(msg)
		case <-late:
			d.t.Fatalf("never: %s; the screen is\n%s", what, d.screen)
		}
	}
}

func (d *desk) untilShown(text string) {
	d.t.Helper()
	d.until(fmt.Sprintf("%q on the screen", text), func() bool { return strings.Contains(d.screen, text) })
}

const keysWork = "or its letter"

func (d *desk) press(keys ...string) {
	for _, k := range keys {
		msg := tea.KeyPressMsg{Text: k}
		switch k {
		case "enter":
			msg = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "esc":
			msg = tea.KeyPressMsg{Code: tea.KeyEscape}
		case "right":
			msg = tea.KeyPressMsg{Code: tea.KeyRight}
		case "down":
			msg = tea.KeyPressMsg{Code: tea.KeyDown}
		default:
			msg.Code = []rune(k)[0]
		}
		d.send(msg)
	}
}

func (d *desk) say(text string) {
	for _, r := range text {
		d.press(string(r))
	}
}

func (d *desk) want(statuses ...work.CheckpointStatus) {
	d.t.Helper()
	var got []work.CheckpointStatus
	for _, a := range d.answers {
		got = append(got, a.Status)
	}
	if !reflect.DeepEqual(got, statuses) {
		d.t.Errorf("answers %v, want %v", got, statuses)
	}
}

// An Enter that was meant for something else answers nothing, at any point:
// first no key counts, then the cursor stands on looking.
func TestEnterDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for _, at := range everyPoint() {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, asked("r.1", at))
			d.untilShown("What about r.1?")
			d.press("y", "c", "p", "enter", "enter")
			d.untilShown(keysWork)
			if d.m.asking == nil || d.m.asking.step != stepChoose || len(d.m.sent) > 0 {
				t.Fatalf("%s: keys counted before the question could be read", at)
			}
			d.press("enter")
			d.until("the page", func() bool { return d.full })
			if !strings.Contains(d.screen, "these are the facts") {
				t.Errorf("%s: the page does not show what is judged:\n%s", at, d.screen)
			}
			d.press("enter", "y", "q")
			d.untilShown(keysWork)
			if d.full || len(d.m.sent) > 0 {
				t.Errorf("%s: the page answered", at)
			}
		})
	}
}

func TestYesByKeyAndByCursor(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asked("r.1", gates.PointPhaseStart), asked("r.2", gates.PointFinal))
	d.untilShown("What about r.1?  (1 of 2)")
	d.untilShown(keysWork)
	d.press("y")
	d.until("the answer", func() bool { return len(d.answers) == 1 })
	d.send(lookMsg{})
	d.untilShown("What about r.2?")
	d.untilShown(keysWork)
	d.press("down", "enter")
	d.until("the answer", func() bool { return len(d.answers) == 2 })
	d.want(work.CheckpointApproved, work.CheckpointApproved)
}

// Changes are not requested without a word, and the word reaches the answer.
func TestComment(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asked("r.1", gates.PointFinal))
	var got work.Answer
	d.refuse = func(a work.Answer) (work.Checkpoint, error) {
		got = a
		return work.Checkpoint{ID: a.Checkpoint, Status: a.Status}, nil
	}
	d.untilShown(keysWork)
	d.press("c")
	d.untilShown("enter: send")
	d.press("enter")
	d.untilShown("say what is to change")
	d.say("y: use a map")
	d.press("esc") // back, and what was written stays
	d.untilShown(keysWork)
	d.press("c")
	d.untilShown("y: use a map")
	d.press("enter")
	d.until("the answer", func() bool { return len(d.answers) == 1 })
	if got.Status != work.CheckpointChangesRequested || got.Comment != "y: use a map" || got.Choice != "" {
		t.Errorf("answer %+v", got)
	}
}

// "Yes to all" answers what is open and what opens later, but never the result.
func TestYesToAll(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asked("r.1", gates.PointPhaseStart), asked("r.2", gates.PointSubPhase), asked("r.3", gates.PointStale))
	d.untilShown(keysWork)
	d.press("a")
	d.until("two answers", func() bool { return len(d.answers) == 2 })
	d.open = append(d.open, question{Checkpoint: asked("r.4", gates.PointIteration)}, question{Checkpoint: asked("r.5", gates.PointFinal)})
	d.send(lookMsg{})
	d.until("the third", func() bool { return len(d.answers) == 3 })
	d.send(lookMsg{})
	d.untilShown("What about r.3?  (1 of 2)")
	d.want(work.CheckpointApproved, work.CheckpointApproved, work.CheckpointApproved)
	if len(d.m.sent) != 3 || d.m.sent["r.3"] || d.m.sent["r.5"] {
		t.Errorf("answered: %v", d.m.sent)
	}
}

// Esc puts a question aside without answering it; Enter brings it back.
func TestLater(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asked("r.1", gates.PointStale))
	d.untilShown(keysWork)
	d.press("esc")
	d.untilShown("a question waits for you")
	d.press("y", "c", "esc")
	d.send(lookMsg{})
	if d.m.asking != nil || len(d.m.sent) > 0 {
		t.Fatalf("put aside, but:\n%s", d.screen)
	}
	d.open = append(d.open, question{Checkpoint: asked("r.2", gates.PointPhaseStart)})
	d.send(lookMsg{})
	d.untilShown("What about r.2?  (2 of 2)")
	d.untilShown(keysWork)
	d.press("esc")
	d.untilShown("2 questions wait for you")
	d.press("enter")
	d.untilShown("What about r.1?  (1 of 2)")
}

// A question that somebody else answers disappears, from a page and from a
// half-written comment too, and who did it is said.
func TestAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	for _, inside := range []string{"", "d", "n", "x"} {
		d := newDesk(t, asked("r.1", gates.PointFinal))
		d.untilShown(keysWork)
		if inside != "" {
			d.press(inside)
		}
		d.open = nil
		d.told = []orchestrator.CheckpointAnsweredData{
			{ID: "r.1", Status: work.CheckpointApproved, By: "eve", Door: "web", Refused: "conflict"},
			{ID: "r.1", Status: work.CheckpointChangesRequested, By: "bob\x1b[2J", Door: "cli"},
		}
		d.send(lookMsg{})
		if d.full || strings.Contains(d.screen, keysWork) || !strings.Contains(d.screen, `bob\x1b[2J answered (cli): changes requested – What about r.1?`) {
			t.Errorf("after %q:\n%s", inside, d.screen)
		}
		d.press("y", "enter")
		d.want()
	}
}

// Who was too slow learns it; what could not be written is asked again.
func TestAnswersThatFail(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asked("r.1", gates.PointPhaseStart))
	d.refuse = func(work.Answer) (work.Checkpoint, error) { return work.Checkpoint{}, errors.New("disk full") }
	d.untilShown(keysWork)
	d.press("a")
	d.untilShown("not answered: disk full")
	d.untilShown("What about r.1?")
	if d.m.all {
		t.Error("an answer that failed is given again and again")
	}
	d.refuse = func(a work.Answer) (work.Checkpoint, error) {
		cp := asked("r.1", gates.PointPhaseStart)
		cp.Status, cp.AnsweredBy, cp.Door = work.CheckpointRejected, "bob", "cli"
		return cp, fmt.Errorf("answer: %w", work.ErrAlreadyResolved)
	}
	d.untilShown(keysWork)
	d.press("y")
	d.untilShown("bob was faster (cli): rejected")
	if d.m.asking != nil {
		t.Errorf("it is asked again:\n%s", d.screen)
	}
	d.want()
}

// The run is not aborted by one key.
func TestAbortIsConfirmed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asked("r.1", gates.PointPhaseStart))
	d.untilShown(keysWork)
	d.press("x")
	d.untilShown("Abort the run?")
	d.press("enter") // the cursor stands on no
	d.untilShown(keysWork)
	d.press("x")
	d.untilShown("Abort the run?")
	d.press("esc")
	d.untilShown(keysWork)
	if len(d.m.sent) > 0 {
		t.Fatal("aborted without a yes")
	}
	var got work.Answer
	d.refuse = func(a work.Answer) (work.Checkpoint, error) {
		got = a
		return work.Checkpoint{ID: a.Checkpoint, Status: a.Status}, nil
	}
	d.press("x")
	d.untilShown("Abort the run?")
	d.press("right", "enter")
	d.until("the answer", func() bool { return len(d.answers) == 1 })
	if got.Choice != orchestrator.ChoiceAbort || got.Status != work.CheckpointRejected {
		t.Errorf("answer %+v", got)
	}
}

// The block fits, with a question too, and the question can be read.
func TestBlockFits(t *testing.T) {
	pace.Slow(t, "every size of a terminal")
	pace.Sequential(t, "it is drawn in every size, in one goroutine")
	t.Parallel()
	cp := asked("r.1", gates.PointSubPhase)
	cp.Question = strings.Repeat("a long question ", 30)
	cp.Facts = strings.Repeat("a fact of many words 漢字 ", 40) + "\n" + strings.Repeat("line\n", 40)
	d := newDesk(t, cp)
	d.untilShown(keysWork)
	var lines []string
	d.m.show = func(l []string, _ bool, _ int) { lines = l }
	for _, keys := range []string{"", "d", "q", "s", "esc", "x"} {
		if keys != "" {
			d.press(keys)
		}
		for width := 5; width < 220; width += 23 {
			for height := 3; height < 70; height += 6 {
				d.send(tea.WindowSizeMsg{Width: width, Height: height})
				if len(lines) > height {
					t.Fatalf("after %q, %dx%d: %d lines", keys, width, height, len(lines))
				}
				for _, line := range lines {
					if w := len([]rune(bare([]string{line}))); w > width {
						t.Fatalf("after %q, %dx%d: a line of %d: %q", keys, width, height, w, line)
					}
				}
			}
		}
		d.send(tea.WindowSizeMsg{Width: 60, Height: 15})
		text := bare(lines)
		if keys == "" && (!strings.Contains(text, "> d  look") || !strings.Contains(text, "x  abort") || !strings.Contains(text, "? a long question") || !strings.Contains(text, "1 running")) {
			t.Errorf("60x15:\n%s", text)
		}
	}
}
