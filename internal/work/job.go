package work

// JobDir is the folder of a job's own documents in its worktree. It is part of
// what a strategic phase changes, and not of the result that lands.
const JobDir = "forge-job"

// How many todos a strategic phase may write for the tactical one after it.
const (
	MinTodos = 5
	MaxTodos = 20
)

// Job is what a run is opened with that has no plan of its own: strategic and
// tactical phases alternate until the agent says that the job is complete.
type Job struct {
	Description string   `json:"description"`
	Expert      string   `json:"expert,omitempty"` // name
	Prompt      string   `json:"prompt,omitempty"` // the expert's
	Documents   []string `json:"documents,omitempty"`
	Sources     []string `json:"sources,omitempty"` // names of data sources
	// Start is the commit that the first phase begins at: the base with the
	// job's documents.
	Start string `json:"start"`
	// Phase is what every phase of the job runs with.
	Phase PhaseSettings `json:"phase"`
	// MaxPhases ends a job that comes to no end; 0 = no limit.
	MaxPhases int `json:"max_phases,omitempty"`
}

// TodoCheck is what Forge read in a job's todos, from a commit.
type TodoCheck struct {
	Total    int      `json:"total"`
	Done     []string `json:"done,omitempty"` // titles, in the order of the file
	Problems []string `json:"problems,omitempty"`
	// Open are the todos that are not done, each by its id, else its title. In
	// the record of a tactical phase only those that were staged for it.
	Open []string `json:"open,omitempty"`
	// Lost are the todos that were staged for a tactical phase and are gone
	// from the list unfinished.
	Lost []string `json:"lost,omitempty"`
	// Listed are all todos, named as in Open; not recorded.
	Listed []string `json:"listed,omitempty"`
}

// JobFeedback is what a person said of a job, at the end of one of its phases.
type JobFeedback struct {
	By      string `json:"by"`
	Phase   string `json:"phase"`
	Comment string `json:"comment"`
}
