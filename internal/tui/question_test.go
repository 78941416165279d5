package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// asked is an open checkpoint as the core opens it at a point.
func asked(id string, at gates.Point) work.Checkpoint {
	cp := work.Checkpoint{
		ID: id, Run: "r", Kind: string(at), Revision: 3, Question: "What about " + id + "?", Facts: "these are the facts",
		Choices: gates.Choices(at), Status: work.CheckpointPending, OpenedAt: noon,
	}
	if !slices.ContainsFunc(cp.Choices, func(c work.Choice) bool { return c.Name == orchestrator.ChoiceAbort }) {
		cp.Choices = append(cp.Choices, work.Choice{Name: orchestrator.ChoiceAbort, Answer: work.CheckpointRejected, Label: "abort the run"})
	}
	return cp
}

// everyPoint are the points at which a run asks a person.
func everyPoint() []gates.Point {
	return []gates.Point{
		gates.PointPhaseStart, gates.PointIteration, gates.PointStale, gates.PointSubPhase, gates.PointPhaseTransition,
		gates.PointFinal, gates.PointEvidence, orchestrator.PointBaseline, "ckpt.deliverable",
	}
}

// What each key answers, at every point. No word of it depends on how the
// labels read.
func TestDoorAnswers(t *testing.T) {
	t.Parallel()
	const yes, changes, no = work.CheckpointApproved, work.CheckpointChangesRequested, work.CheckpointRejected
	type said struct {
		status  work.CheckpointStatus
		choice  string
		comment string
	}
	abort := said{no, "abort", ""}
	usual := map[string]said{"y": {yes, "", ""}, "c": {changes, "", "words"}, "n": {no, "", "words"}, "x": abort}
	withAll := map[string]said{"y": {yes, "", ""}, "a": {yes, "", "yes to all"}, "c": {changes, "", "words"}, "n": {no, "", "words"}, "x": abort}
	want := map[gates.Point]map[string]said{
		gates.PointPhaseStart: withAll, gates.PointIteration: withAll,
		gates.PointPhaseTransition: usual, gates.PointFinal: usual, gates.PointEvidence: usual, "ckpt.deliverable": usual,
		orchestrator.PointBaseline: {"y": {yes, "", ""}, "n": {no, "", "words"}, "x": abort},
		gates.PointStale:           {"c": {yes, "continue", ""}, "p": {changes, "pivot", "words"}, "s": {no, "stop", "words"}, "x": abort},
		gates.PointSubPhase: {
			"y": {yes, "approve", ""}, "a": {yes, "approve", "yes to all"}, "s": {no, "skip", "words"}, "r": {no, "reject_all", "words"}, "x": abort,
		},
	}
	for _, at := range everyPoint() {
		q := question{Checkpoint: asked("r.1", at)}
		got := map[string]said{}
		for i, o := range OptionsOf(q) {
			if i == 0 {
				if o.deed != deedLook || o.key != "d" {
					t.Errorf("%s: the cursor stands on %+v, which answers", at, o)
				}
				continue
			}
			a := o.answer(q.Checkpoint, " words\n", "ann", noon)
			got[o.key] = said{a.Status, a.Choice, a.Comment}
			if a.Checkpoint != "r.1" || a.Revision != 3 || a.By != "ann" || a.Door != "terminal" || !a.At.Equal(noon) {
				t.Errorf("%s: the answer is not this door's to this question: %+v", at, a)
			}
			if o.comment == mustComment != (a.Status == changes) {
				t.Errorf("%s: %+v: changes need a comment, and nothing else does", at, o)
			}
			if _, err := gates.Resolve(q.Checkpoint, a, noon); err != nil {
				t.Errorf("%s, key %s: %v", at, o.key, err)
			}
		}
		if len(got) != len(want[at]) {
			t.Errorf("%s: %v, want %v", at, got, want[at])
		}
		for key, w := range want[at] {
			if got[key] != w {
				t.Errorf("%s, key %s: %+v, want %+v", at, key, got[key], w)
			}
		}
	}
}

// "Yes to all" never covers what is more than going on as planned.
func TestYesToAllCovers(t *testing.T) {
	t.Parallel()
	covered := map[gates.Point]bool{gates.PointPhaseStart: true, gates.PointIteration: true, gates.PointSubPhase: true}
	for _, at := range everyPoint() {
		a, ok := yesTo(question{Checkpoint: asked("r.1", at)}, "ann", noon)
		if ok != covered[at] {
			t.Errorf("%s: covered %v, want %v", at, ok, covered[at])
		}
		if ok && a.Status != work.CheckpointApproved {
			t.Errorf("%s: %+v is not yes", at, a)
		}
	}
}

// A choice that the checkpoint brings along gets a key of its own.
func TestDoorKeysAreDistinct(t *testing.T) {
	t.Parallel()
	cp := asked("r.1", "ckpt.custom")
	for _, name := range []string{"go", "give", "jog", "keep", "done", "abort", "d", "d2", ""} {
		cp.Choices = append(cp.Choices, work.Choice{Name: name, Answer: work.CheckpointApproved, Label: name + "\x1b[2J"})
	}
	seen := map[string]bool{}
	for _, o := range OptionsOf(question{Checkpoint: cp}) {
		if o.key == "" || seen[o.key] || strings.ContainsAny(o.key, "jkg_") {
			t.Errorf("option %+v: key taken or used to move about", o)
		}
		seen[o.key] = true
		if strings.Contains(o.Label, "\x1b") {
			t.Errorf("label %q moves the cursor", o.Label)
		}
	}
	if len(seen) != 2+7 {
		t.Errorf("%d options, want look, abort and 7 choices", len(seen))
	}
}

// The page shows what the question says and the whole change, without what
// would move the cursor, on every size.
func TestPage(t *testing.T) {
	t.Parallel()
	q := question{Checkpoint: asked("r.1", gates.PointFinal), from: "a", to: "b", About: "the result"}
	p := newPage(q, 60)
	if got := bare(p.lines(60, 12)); !strings.Contains(got, "What about r.1?") || !strings.Contains(got, "these are the facts") || !strings.Contains(got, "reading the change") {
		t.Errorf("before the change is there:\n%s", got)
	}
	patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,40 @@\n-old\n" + strings.Repeat("+new\x1b[2J\ttext "+strings.Repeat("漢", 50)+"\n", 40)
	p.loaded(pageMsg{id: "r.1", text: patch}, 60)
	for width := 5; width < 130; width += 7 {
		p.wrap(width)
		for height := 2; height < 40; height += 9 {
			p.pressed("g", height)
			all := ""
			for range len(p.rows) {
				lines := p.lines(width, height)
				if len(lines) != height {
					t.Fatalf("%dx%d: %d lines", width, height, len(lines))
				}
				all += bare(lines[:1])
				p.pressed("j", height)
			}
			if !strings.Contains(all, "-old") || strings.Contains(strings.Join(p.rows, ""), "\x1b[2J") {
				t.Fatalf("%dx%d: the change is not all there, or moves the cursor", width, height)
			}
		}
	}
	p.loaded(pageMsg{err: errors.New("gone")}, 60)
	if got := bare(p.lines(60, 12)); !strings.Contains(got, "cannot be shown: gone") {
		t.Errorf("a change that cannot be read:\n%s", got)
	}
	for _, key := range []string{"q", "esc", "d"} {
		if !p.pressed(key, 10) {
			t.Errorf("%s does not lead back", key)
		}
	}
	if p.pressed("y", 10) || p.pressed("enter", 10) {
		t.Error("keys that answer have no place here")
	}
}
