package work

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ProofRecord is the last proof of a phase as people are told of it: what ran
// on what, what was put back for it, and how strong it is. Of what an
// earlier release proved, it says what ran and nothing more.
type ProofRecord struct {
	Commands []string   `json:"commands,omitempty"` // of the verify
	Ran      []ProofRun `json:"ran,omitempty"`      // in the order in which they ran
	// PutBack is the evidence of the change: every proof but that of the work
	// itself ran with what was there before.
	PutBack   []string       `json:"put_back,omitempty"`
	Allowed   []string       `json:"allowed,omitempty"` // evidence that may_change lets differ
	Notes     []string       `json:"notes,omitempty"`   // evidence that only grew, new dependencies
	Disturbed string         `json:"disturbed,omitempty"`
	Hidden    int            `json:"hidden,omitempty"`  // checks that ran and that no agent sees
	Control   *ControlReport `json:"control,omitempty"` // what test runners said; null = they were not asked
	Doubts    []Doubt        `json:"doubts,omitempty"`
	Pages     []PageShown    `json:"pages,omitempty"` // with their pictures, before and after
}

// ProofRun is one run of the verify commands for a proof.
type ProofRun struct {
	On     VerifyOn `json:"on"`
	OK     bool     `json:"ok"`
	Millis int64    `json:"millis,omitempty"`
	// Before is set where the commands did not run again.
	Before *ProvenBefore `json:"before,omitempty"`
	// Rides is set where they did not run on this tree: the verify of the batch
	// that the phase landed in stands for them.
	Rides CommandID `json:"rides,omitempty"`
	// ReadOnly is how much of the evidence its commands could only read; null =
	// nobody said.
	ReadOnly *ReadOnly `json:"read_only,omitempty"`
}

// RidesSaid is how it is told that the verify of a batch stands for one of a phase.
const RidesSaid = "by the verify of its batch, with what lands after it"

// ProofLine is one part of a proof in words.
type ProofLine struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Known says that there is a proof to tell of.
func (r ProofRecord) Known() bool { return len(r.Ran) > 0 }

// Of is the record that an own proof begins: that of the work itself.
func (d VerifyFinishedData) Of(commands []string) ProofRecord {
	r := ProofRecord{Commands: commands, Allowed: d.Allowed, Notes: d.Notes}
	r.PutBack = slices.Concat(d.Touched, d.Gone, d.Differs, d.Parts)
	slices.Sort(r.PutBack)
	r.PutBack = slices.Compact(r.PutBack)
	r.Hidden, r.Pages = d.Hidden, d.Pages
	return r.With(d)
}

// With is the record with one more proof that ran.
func (r ProofRecord) With(d VerifyFinishedData) ProofRecord {
	r.Ran = append(slices.Clip(r.Ran), ProofRun{On: d.On, OK: d.OK, Millis: d.Millis, Before: d.Before, Rides: d.Rides, ReadOnly: d.ReadOnly})
	r.Disturbed = d.Disturbed
	return r
}

// Tree names in words what a proof ran on.
func (on VerifyOn) Tree() string {
	switch on {
	case OnSnapshot:
		return "the work as it is"
	case OnMerged:
		return "the merged tree"
	case OnBase:
		return "the base"
	case OnWarm:
		return "the base, for the caches of its tools"
	case OnTrusted:
		return "its product with the evidence that a person last accepted"
	case OnTrustedNew:
		return "its product and its new files with the evidence that a person last accepted"
	case OnTrustedChanged:
		return "its product and what may be product with the evidence that a person last accepted"
	case OnProtectedChanged:
		return "its product and what may be product with the evidence that the phase began with"
	case OnProtected:
		return "its product with the evidence that the phase began with"
	case OnParts:
		return "its product with the evidence that parts of it were proven with"
	}
	return string(on)
}

// Short is what was proven, as a line of the log names it.
func (on VerifyOn) Short() string {
	switch on {
	case OnSnapshot:
		return "the work"
	case OnMerged:
		return "the merged work"
	case OnBase, OnWarm:
		return "the base"
	case OnTrusted, OnTrustedNew, OnTrustedChanged:
		return "the work with the tests last accepted"
	case OnProtected, OnProtectedChanged:
		return "the work with the tests it began with"
	case OnParts:
		return "the work with the tests that parts of it were proven with"
	}
	return string(on)
}

// Line is the proof in one line; "" where there is none.
func (r ProofRecord) Line() string {
	if !r.Known() {
		return ""
	}
	parts := []string{"verified"}
	for _, one := range r.Ran {
		if !one.OK {
			parts[0] = "not verified"
			parts = append(parts, "red: "+one.On.Tree())
		}
	}
	if r.Disturbed != "" {
		parts[0] = "disturbed"
	}
	if r.Hidden > 0 {
		parts = append(parts, count(r.Hidden, "hidden check"))
	}
	if n := len(r.Pages); n > 0 {
		parts = append(parts, shownShort(r.Pages))
	}
	if r.Control != nil {
		parts = append(parts, r.Control.short()...)
	}
	if n := len(r.Doubts); n > 0 {
		parts = append(parts, count(n, "doubt"))
	}
	return strings.Join(parts, "; ")
}

// short is what a line says of the controls.
func (c ControlReport) short() []string {
	var out, missing []string
	for _, one := range c.Runners {
		if one.Accounted {
			out = append(out, count(one.Passed, "test")+" passed by name in "+one.Name)
		} else {
			missing = append(missing, one.title())
		}
	}
	if len(missing) > 0 {
		out = append(out, "which tests ran is unknown: "+strings.Join(missing, ", "))
	}
	if red, of := c.Reds(); of > 0 {
		out = append(out, fmt.Sprintf("%d of %s made wrong noticed", red, count(of, "test")))
	}
	for _, one := range []struct {
		n    int
		what string
		how  string
	}{{len(c.Lost), "test", "lost"}, {len(c.Replaced), "package", "installed otherwise"}, {len(c.Unsteady), "test", "unsteady"}, {len(c.Loosened), "test", "loosened by settings"}, {len(c.Softened), "test", "softer"}, {NumberOfPlaces(c.Unproven), "function", "unproven"}, {len(c.Unread), "file", "unread"}} {
		if one.n > 0 {
			out = append(out, count(one.n, one.what)+" "+one.how)
		}
	}
	if a := c.Ablation; a != nil && a.Tried > 0 {
		out = append(out, a.share())
	}
	return out
}

// Reds are the controls that had to be red and were, of those that had to be.
func (c ControlReport) Reds() (red, of int) {
	for _, one := range c.Runners {
		red += one.Planted + one.Wrong
	}
	return red, red + len(c.Deaf)
}

func (a Ablation) share() string {
	return fmt.Sprintf("%.0f %% of %s needed", 100*a.Share, count(a.Lines, "changed line"))
}

func (one RunnerReport) title() string {
	name := one.Name
	if name == "" {
		name = "no known test runner"
	}
	if one.Dir != "" && one.Dir != "." {
		name += " in " + one.Dir
	}
	return name
}

// Tell is the proof part by part, without its doubts, which stand by themselves.
func (r ProofRecord) Tell() []ProofLine {
	var out []ProofLine
	say := func(name, text string) {
		if text != "" {
			out = append(out, ProofLine{Name: name, Text: text})
		}
	}
	say("commands", strings.Join(r.Commands, "; "))
	for _, one := range r.Ran {
		how := "red"
		if one.OK {
			how = "green"
		}
		if took := (time.Duration(one.Millis) * time.Millisecond).Round(100 * time.Millisecond); took > 0 {
			how += " after " + took.String()
		}
		if one.Before != nil {
			how += " (" + one.Before.Said() + ")"
		}
		if one.Rides != "" {
			how += " (" + RidesSaid + ")"
		}
		say("verify", how+" on "+one.On.Tree())
		if one.ReadOnly != nil {
			say("read-only", one.ReadOnly.tell())
		}
	}
	say("disturbed", r.Disturbed)
	if len(r.Ran) > 1 {
		say("put back", strings.Join(r.PutBack, ", "))
	} else {
		say("changed evidence", strings.Join(r.PutBack, ", "))
	}
	say("allowed", strings.Join(r.Allowed, ", "))
	for _, note := range r.Notes {
		say("note", note)
	}
	for _, page := range r.Pages {
		say("page", page.Line())
	}
	if r.Control != nil {
		out = append(out, r.Control.Tell()...)
	}
	return out
}

// tell says what kept evidence from being written while a proof ran.
func (r ReadOnly) tell() string {
	all := count(r.Of, "file") + " of evidence"
	switch {
	case r.Files == r.Of && r.Of > 0:
		return all
	case r.Files == 0:
		return "none of " + all + ", compared after each command: " + r.Why
	}
	return fmt.Sprintf("%d of %s, the others compared after each command: %s", r.Files, all, r.Why)
}

// Tell says part by part how much a proof is worth.
func (c ControlReport) Tell() []ProofLine {
	var out []ProofLine
	say := func(name, text string) {
		if text != "" {
			out = append(out, ProofLine{Name: name, Text: text})
		}
	}
	for _, one := range c.Runners {
		say("tests", one.tell())
	}
	say("lost", strings.Join(c.Lost, ", "))
	say("deaf", strings.Join(c.Deaf, ", "))
	say("replaced", strings.Join(c.Replaced, ", "))
	say("unsteady", strings.Join(c.Unsteady, ", "))
	say("loosened", strings.Join(c.Loosened, ", "))
	say("softer", strings.Join(c.Softened, ", "))
	if n := c.Red.Of; n > 0 {
		say("made wrong", fmt.Sprintf("%d of %s", c.Red.Done, count(n, "expectation")))
	}
	if n := c.Green.Of; n > 0 {
		say("taken out", fmt.Sprintf("%d of %s", c.Green.Done, count(n, "changed function")))
	}
	say("unproven", places(c.Unproven))
	say("undecided", places(c.Undecided))
	say("unread", strings.Join(c.Unread, ", "))
	if a := c.Ablation; a != nil {
		if a.Tried > 0 {
			say("ablation", fmt.Sprintf("%s; %d of %s tried", a.share(), a.Tried, count(a.Hunks, "hunk")))
		}
		say("not needed", places(a.Idle))
		say("left out", a.Skipped)
	}
	say("left out", strings.Join(c.Skipped, "; "))
	return out
}

// tell is what one test runner said.
func (one RunnerReport) tell() string {
	if !one.Accounted {
		why := strings.TrimPrefix(one.Why, "not accounted: ")
		switch {
		case why == "":
			why = one.title()
		case one.Name != "" || one.Dir != "":
			why = one.title() + ", " + why
		}
		return "which tests ran is unknown: " + strings.ReplaceAll(why, "no red control", "none was seen to fail")
	}
	text := count(one.Passed, "test") + " passed by name in " + one.title()
	for _, part := range []struct {
		n    int
		what string
	}{{one.Skipped, "skipped"}, {one.Failed, "failed"}, {one.Planted, "planted, failed as it must"}, {one.Wrong, "made wrong, failed as it must"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	if one.Why != "" {
		text += "; " + one.Why
	}
	return text
}

func places(all []Place) string {
	var out []string
	for _, one := range all {
		if one.More > 0 {
			out = append(out, fmt.Sprintf("and %d more (%s)", one.More, WhereAll))
			continue
		}
		at := one.Path
		if one.Line > 0 {
			at = fmt.Sprintf("%s:%d", one.Path, one.Line)
		}
		if one.Name != "" {
			at += " " + one.Name
		}
		out = append(out, at)
	}
	return strings.Join(out, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
