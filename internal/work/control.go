package work

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// ControlRequest asks how much a green proof is worth: which tests ran, whether
// the judge can still say no, and which lines of the change anything depends on.
type ControlRequest struct {
	Phase    string
	Dir      string // folder of its own, made and dropped by each control
	Checkout string // the user's checkout: source of copy and link
	// Commit is what is judged: trusted evidence with the snapshot's product,
	// green under the verify commands already.
	Commit   string
	Trusted  string // the state a person accepted; its tests are what has to pass
	Snapshot string // what the agent claims, with its own new tests
	Base     string // where the phase began
	// Product are the changed product paths of Snapshot against Base.
	Product []string
	// Settings are the changed paths of Snapshot that decide how tests are run.
	Settings []string
	// Changed are the paths of evidence that Snapshot has otherwise than Trusted
	// or Base, Added those that neither has.
	Changed, Added []string
	// Tests are the evidence paths of Trusted that runners collect; nil = the
	// runners' own patterns say.
	Tests    []string
	Commands []string // the verify commands, for what they say of runners
	// Evidence, Earlier and Began are as in VerifyRequest, which calls the last
	// one Base; MayWrite is too.
	Evidence []string
	Earlier  []string
	Began    string
	MayWrite []string
	// TimeoutSecs of each run of a runner.
	TimeoutSecs int
	// BudgetSecs bounds what may be left out; 0 = as long as the verify took, less
	// than that = all of it is.
	BudgetSecs   int
	VerifyMillis int64
	Ablate       string // "off" or "" = nothing is taken back; "report", "require"
	AblateSecs   int    // 0 = as long as the verify took
	// Rest asks for nothing but what earlier controls of the same commits left out,
	// within RestSecs; 0 = four times as long as the verify took.
	Rest     *ControlLeft
	RestSecs int
	Worktree Worktree
	Sandbox  SandboxSettings
	Env      []string // names let through, as for the verify
	Hide     []string
	Mark     string
	LogPath  string
	Caches   Caches
	// Accepted says that Trusted holds nothing but accepted work, as in
	// VerifyRequest.
	Accepted bool
}

// ControlReport is what came of the controls. Its lists are sorted, and bounded
// with a last entry that says how many more there were.
type ControlReport struct {
	Runners []RunnerReport `json:"runners,omitempty"`
	// Lost are the tests that passed on the trusted state and were not
	// reported as passed now, with what was reported instead.
	Lost []string `json:"lost,omitempty"`
	// Deaf are the controls that had to be red by name and were not.
	Deaf []string `json:"deaf,omitempty"`
	// Replaced is what setup installs for tests alone and that is not what it
	// installs on the trusted state.
	Replaced []string `json:"replaced,omitempty"`
	// Unsteady are the tests that passed, and did not while other tests were
	// made wrong, as they do on the trusted state.
	Unsteady []string `json:"unsteady,omitempty"`
	// Loosened are tests that the settings as they are changed take away, or
	// let pass when they are wrong.
	Loosened []string `json:"loosened,omitempty"`
	// Softened are tests that are there still and, as they are changed, no longer
	// notice what they noticed.
	Softened []string `json:"softened,omitempty"`
	// Unproven are changed functions whose loss no named test notices.
	Unproven []Place `json:"unproven,omitempty"`
	// Undecided are those of which no run could tell.
	Undecided []Place `json:"undecided,omitempty"`
	// Unread are changed product files that nothing opened while all runners
	// ran.
	Unread   []string  `json:"unread,omitempty"`
	Ablation *Ablation `json:"ablation,omitempty"`
	// Skipped says what was left out, and why.
	Skipped []string `json:"skipped,omitempty"`
	Red     Sampled  `json:"red,omitzero"`   // expectations made wrong
	Green   Sampled  `json:"green,omitzero"` // functions taken out
	Millis  int64    `json:"millis,omitempty"`
	// Left is what there was no time for, so that the end of the run can go on
	// with it; null = nothing.
	Left *ControlLeft `json:"left,omitempty"`
}

// ControlLeft names the controls that there was no time for. Its lists hold
// short marks, since an event has little room: of two things with one mark both
// are tried. AllLeft stands for every one.
type ControlLeft struct {
	Runners   []string `json:"runners,omitempty"`   // whose further expectations were not made wrong
	Functions []string `json:"functions,omitempty"` // that were not taken out
	Hunks     []string `json:"hunks,omitempty"`     // that were not taken back
	Own       bool     `json:"own,omitempty"`       // the tests of earlier work were not made wrong
	Commands  bool     `json:"commands,omitempty"`  // no expectation was found that the verify commands notice
	Changed   bool     `json:"changed,omitempty"`   // the tests as they are changed were not asked what they notice
}

// AllLeft is the mark of everything, where there is too much to name.
const AllLeft = "*"

// MostLeft is how many marks of one list an event has room for.
const MostLeft = 25

// Empty says that nothing was left out. A nil one is empty.
func (l *ControlLeft) Empty() bool {
	return l == nil || len(l.Runners)+len(l.Functions)+len(l.Hunks) == 0 && !l.Own && !l.Commands && !l.Changed
}

// LeftMark is the mark of something by its name.
func LeftMark(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:4])
}

// LeftMarks are the marks of all, each once.
func LeftMarks(all []string) []string {
	var out []string
	for _, name := range all {
		out = append(out, LeftMark(name))
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > MostLeft {
		return []string{AllLeft}
	}
	return out
}

// IsLeft says that something is among marks.
func IsLeft(marks []string, name string) bool {
	return slices.Contains(marks, AllLeft) || slices.Contains(marks, LeftMark(name))
}

// overBudget ends what is said of a control that there was no time for.
const overBudget = ": budget"

// OverBudget says what was left out because there was no time.
func OverBudget(what string) string { return what + overBudget }

// With is the report of a proof and of what was tried of it later: what was left
// out is what the later one still leaves.
func (c ControlReport) With(rest ControlReport) ControlReport {
	out := c
	out.Replaced = append(slices.Clip(c.Replaced), rest.Replaced...)
	out.Deaf, out.Unsteady = append(slices.Clip(c.Deaf), rest.Deaf...), append(slices.Clip(c.Unsteady), rest.Unsteady...)
	out.Unproven, out.Undecided = append(slices.Clip(c.Unproven), rest.Unproven...), append(slices.Clip(c.Undecided), rest.Undecided...)
	out.Skipped, out.Left = nil, rest.Left // none is nil, as in a journal
	for _, why := range c.Skipped {
		if !strings.HasSuffix(why, overBudget) {
			out.Skipped = append(out.Skipped, why)
		}
	}
	out.Skipped = append(out.Skipped, rest.Skipped...)
	out.Red = Sampled{Done: c.Red.Done + rest.Red.Done, Of: c.Red.Of + rest.Red.Of}
	out.Green = Sampled{Done: c.Green.Done + rest.Green.Done, Of: c.Green.Of + rest.Green.Of}
	out.Millis = c.Millis + rest.Millis
	out.Runners = slices.Clone(c.Runners)
	for _, more := range rest.Runners {
		at := slices.IndexFunc(out.Runners, func(r RunnerReport) bool { return r.Name == more.Name && r.Dir == more.Dir })
		if at < 0 {
			out.Runners = slices.DeleteFunc(out.Runners, func(r RunnerReport) bool { return r.Name == "" })
			out.Runners = append(out.Runners, more)
			continue
		}
		out.Runners[at].Wrong += more.Wrong
	}
	if c.Ablation != nil && rest.Ablation != nil {
		both := c.Ablation.with(*rest.Ablation)
		out.Ablation = &both
	}
	return out
}

// with is an ablation of the same change that went on later.
func (a Ablation) with(rest Ablation) Ablation {
	a.Needed, a.Tried = a.Needed+rest.Needed, a.Tried+rest.Tried
	a.Lines, a.LinesOn = a.Lines+rest.Lines, a.LinesOn+rest.LinesOn
	a.Idle, a.Skipped = append(slices.Clip(a.Idle), rest.Idle...), rest.Skipped
	if a.Lines > 0 {
		a.Share = float64(a.LinesOn) / float64(a.Lines)
	}
	return a
}

// Sampled says how many of how many controls were run.
type Sampled struct {
	Done int `json:"done"`
	Of   int `json:"of"`
}

// RunnerReport is one test runner that was asked directly.
type RunnerReport struct {
	Name      string `json:"name"` // go test, pytest, …; "" = none was recognised
	Dir       string `json:"dir,omitempty"`
	Command   string `json:"command,omitempty"`
	Accounted bool   `json:"accounted"`
	// Why says what is missing when the tests are not accounted for, or when
	// there is no red control.
	Why     string `json:"why,omitempty"`
	Passed  int    `json:"passed"`
	Skipped int    `json:"skipped,omitempty"`
	Failed  int    `json:"failed,omitempty"`
	Planted int    `json:"planted,omitempty"` // tests that had to fail, and did by name
	Wrong   int    `json:"wrong,omitempty"`   // expectations that had to be red, and were
}

// Place is where something stands in a file.
type Place struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // first, from 1; 0 = the whole file
	End  int    `json:"end,omitempty"`  // last
	Name string `json:"name,omitempty"` // of the function
	Why  string `json:"why,omitempty"`
	// More is set in the last of a list that was cut: it stands for so many more,
	// and has no place of its own.
	More int `json:"more,omitempty"`
}

// CutPlaces keeps the first most of a list, and one that stands for the others.
func CutPlaces(all []Place, most int) []Place {
	if NumberOfPlaces(all) <= most {
		return all
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(p Place) bool { return p.More > 0 })
	kept = kept[:min(len(kept), most)]
	left := NumberOfPlaces(all) - len(kept)
	return append(slices.Clip(kept), Place{More: left, Why: fmt.Sprintf("and %d more", left)})
}

// NumberOfPlaces counts those that a list names or stands for.
func NumberOfPlaces(all []Place) int {
	n := 0
	for _, one := range all {
		n += max(one.More, 1)
	}
	return n
}

// WhereAll says where everything stands of which an event names the first few.
const WhereAll = "forge logs --verify names all"

// Ablation says which hunks of a change its proof depends on: each was taken
// back by itself, and the proof was red or green without it.
type Ablation struct {
	Hunks   int     `json:"hunks"`             // of the product
	Needed  int     `json:"needed"`            // red without them
	Tried   int     `json:"tried"`             // the rest was left out for the budget
	Idle    []Place `json:"idle,omitempty"`    // green without them: no evidence depends on them
	Plain   []Place `json:"plain,omitempty"`   // they only rename, log, import or document
	Lines   int     `json:"lines"`             // of the hunks tried
	LinesOn int     `json:"lines_on"`          // of them, those that the proof depends on
	Share   float64 `json:"share"`             // LinesOn / Lines; 0 when none was tried
	Skipped string  `json:"skipped,omitempty"` // why something was left out
}

// Bad says whether the controls found something that holds a delivery.
func (c ControlReport) Bad() bool {
	return len(c.Lost)+len(c.Deaf)+len(c.Replaced)+len(c.Unsteady)+len(c.Loosened)+len(c.Softened)+len(c.Unproven)+len(c.Unread) > 0
}
