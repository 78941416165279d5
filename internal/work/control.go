package work

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
	// BudgetSecs bounds what may be left out; 0 = as long as the verify took.
	BudgetSecs   int
	VerifyMillis int64
	Ablate       string // "off" or "" = nothing is taken back; "report", "require"
	AblateSecs   int    // 0 = as long as the verify took
	Worktree     Worktree
	Sandbox      SandboxSettings
	Env          []string // names let through, as for the verify
	Hide         []string
	Mark         string
	LogPath      string
	Caches       Caches
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
	// Unsteady are the tests that passed, and did not while other tests were
	// made wrong, as they do on the trusted state.
	Unsteady []string `json:"unsteady,omitempty"`
	// Loosened are tests that the settings as they are changed take away, or
	// let pass when they are wrong.
	Loosened []string `json:"loosened,omitempty"`
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
}

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
	return len(c.Lost)+len(c.Deaf)+len(c.Unsteady)+len(c.Loosened)+len(c.Unproven)+len(c.Unread) > 0
}
