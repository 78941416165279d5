package work

// Settings is the configuration of one run, fully resolved: files, flags and
// defaults are already merged, deprecated words already mapped. It is recorded
// with run.started and read from there ever after.
type Settings struct {
	Project              string                   `json:"project"`
	MaxParallel          int                      `json:"max_parallel"`
	MergeBatch           int                      `json:"merge_batch,omitempty"` // phases that are merged together at most; below 2 = one at a time
	FailFast             bool                     `json:"fail_fast,omitempty"`
	AutoApproveThreshold int                      `json:"auto_approve_threshold"` // files; see gates
	OutageWaitSecs       int                      `json:"outage_wait_secs"`
	Stale                StaleSettings            `json:"stale"`
	Decomposition        DecompositionSettings    `json:"decomposition,omitzero"`
	Limits               Limits                   `json:"limits"`
	Cost                 Cost                     `json:"cost"`
	Verify               VerifySettings           `json:"verify"`
	Proof                ProofSettings            `json:"proof,omitzero"`
	Worktree             Worktree                 `json:"worktree"`
	Sandbox              SandboxSettings          `json:"sandbox"`
	Reviews              ReviewSettings           `json:"reviews,omitzero"`
	Agents               map[string]AgentSettings `json:"agents"` // by name, only those that a phase uses
	Phases               map[string]PhaseSettings `json:"phases"` // by phase number
	Promote              PromoteSettings          `json:"auto_promote,omitzero"`
	CheckpointTypes      []string                 `json:"checkpoint_types,omitempty"`       // that agents may open, beside deliverable
	CheckpointExpirySecs int                      `json:"checkpoint_expiry_secs,omitempty"` // how long a checkpoint may be answered; 0 = for ever
	Spec                 string                   `json:"spec,omitempty"`
	Skills               map[string]string        `json:"skills,omitempty"`  // name → text
	Lessons              []Lesson                 `json:"lessons,omitempty"` // that people kept of earlier runs
	Hooks                []Hook                   `json:"hooks,omitempty"`   // in the order in which they are asked
}

// StaleSettings are the words of [autonomy] that the stale check needs.
type StaleSettings struct {
	Threshold   int    `json:"threshold"` // iterations without progress before a pivot; 0 = off
	PivotPrompt string `json:"pivot_prompt,omitempty"`
}

// DecompositionSettings is [decomposition]: when a phase is to be split into
// parts, and into how many. The zero value splits nothing.
type DecompositionSettings struct {
	Enabled bool `json:"enabled,omitempty"`
	// Requests lets agents ask for it themselves; Blockers looks for it in what
	// they say stops them, and in Keywords there.
	Requests bool     `json:"requests,omitempty"`
	Blockers bool     `json:"blockers,omitempty"`
	Keywords []string `json:"keywords,omitempty"`
	// A phase is split that used up BudgetPercent of its iterations and reports
	// less than ProgressPercent, and before its first iteration one
	// whose budget is above Size; 0 = no budget is.
	BudgetPercent   int `json:"budget_percent,omitempty"`
	ProgressPercent int `json:"progress_percent,omitempty"`
	Size            int `json:"size,omitempty"`
	// MinTasks and MaxTasks bound the parts; KeptPercent of what remains stays
	// with the phase, and one iteration at least.
	MinTasks    int  `json:"min_tasks,omitempty"`
	MaxTasks    int  `json:"max_tasks,omitempty"`
	Integration bool `json:"integration,omitempty"` // one part has to need all others
	KeptPercent int  `json:"kept_percent,omitempty"`
}

// Kept is how many of so many iterations stay with the phase.
func (d DecompositionSettings) Kept(left int) int {
	return max(1, (left*d.KeptPercent+99)/100)
}

// Limits are the time limits of one iteration, in seconds; 0 = none, except
// that DrainSecs and PostResultSecs always hold.
type Limits struct {
	StartSecs      int `json:"start_secs"`
	IdleSecs       int `json:"idle_secs"`
	IterationSecs  int `json:"iteration_secs"`
	PostResultSecs int `json:"post_result_secs"`
	DrainSecs      int `json:"drain_secs"`
}

// Cost holds the caps on money and tokens; nil = no cap.
type Cost struct {
	IterationUSD    *float64 `json:"iteration_usd,omitempty"`
	PhaseUSD        *float64 `json:"phase_usd,omitempty"`
	RunUSD          *float64 `json:"run_usd,omitempty"`
	DayUSD          *float64 `json:"day_usd,omitempty"`
	IterationTokens *int64   `json:"iteration_tokens,omitempty"`
	PhaseTokens     *int64   `json:"phase_tokens,omitempty"`
	RunTokens       *int64   `json:"run_tokens,omitempty"`
	DayTokens       *int64   `json:"day_tokens,omitempty"`
}

// VerifySettings is [verify].
type VerifySettings struct {
	Commands         []string `json:"commands,omitempty"`
	TimeoutSecs      int      `json:"timeout_secs"` // of each command
	Protected        []string `json:"protected,omitempty"`
	AllowRedBaseline bool     `json:"allow_red_baseline,omitempty"`
	None             bool     `json:"none,omitempty"` // the owner waives proof
	// OneHome lets the commands of one proof share a home; MayWrite are globs
	// of tracked files that they may change.
	OneHome  bool     `json:"one_home,omitempty"`
	MayWrite []string `json:"may_write,omitempty"`
	Caches   Caches   `json:"caches,omitzero"`
	// Warm are commands of phases, where the project has none of its own: they run
	// once on the base for what they leave in caches, whatever they say.
	Warm []string `json:"warm,omitempty"`
	// ReuseSecs is how old a green verify may be that stands for another one of
	// the same; 0 = none does.
	ReuseSecs int64 `json:"reuse_secs,omitempty"`
}

// Worktree is [worktree]: what a fresh folder needs before work can start.
type Worktree struct {
	Setup    []string `json:"setup,omitempty"` // shell commands
	Copy     []string `json:"copy,omitempty"`  // globs of ignored files of the checkout
	Link     []string `json:"link,omitempty"`  // likewise, linked and read-only
	CacheKey []string `json:"cache_key,omitempty"`
	// TimeoutSecs of each setup command.
	TimeoutSecs int `json:"timeout_secs,omitempty"`
}

// SandboxSettings is [sandbox].
type SandboxSettings struct {
	Mode    string `json:"mode"`    // auto, required, off
	Network bool   `json:"network"` // agents and verify commands may reach the network
	// OnlyHosts says that they reach Hosts, and agents their own service, though
	// Network is false.
	OnlyHosts bool     `json:"only_hosts,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
	Read      []string `json:"read,omitempty"`  // further paths, read-only
	Write     []string `json:"write,omitempty"` // further paths, writable (caches)
	Hide      []string `json:"hide,omitempty"`  // paths that nothing in a sandbox sees
	// Container, where it names an image, takes the place of Mode: everything that
	// has a sandbox runs in it, or not at all.
	Container ContainerSettings `json:"container,omitzero"`
}

// ContainerSettings are those of [sandbox] that kind = "container" needs.
type ContainerSettings struct {
	Runtime  string `json:"runtime,omitempty"` // podman, docker; "" is what is found
	Image    string `json:"image,omitempty"`
	MemoryMB int    `json:"memory_mb,omitempty"` // 0 = as the runtime has it
	PIDs     int    `json:"pids,omitempty"`      // likewise
}

// How is Mode, or "container".
func (s SandboxSettings) How() string {
	if s.Container.Image != "" {
		return "container"
	}
	return s.Mode
}

// AgentSettings is one [agents.<name>] with its defaults filled in.
type AgentSettings struct {
	Name           string            `json:"name"`
	Kind           string            `json:"kind"` // claude, exec, script, …
	Model          string            `json:"model,omitempty"`
	Command        []string          `json:"command,omitempty"` // exec; or another binary for a CLI kind
	Args           []string          `json:"args,omitempty"`    // appended to the command line of a CLI kind
	File           string            `json:"file,omitempty"`    // script; absolute
	Env            []string          `json:"env,omitempty"`     // names let through from Forge's environment
	SetEnv         map[string]string `json:"set_env,omitempty"` // fixed values, never secrets
	USDPerMTokIn   *float64          `json:"usd_per_mtok_in,omitempty"`
	USDPerMTokOut  *float64          `json:"usd_per_mtok_out,omitempty"`
	SkipPermission bool              `json:"skip_permissions,omitempty"`
	// MCP gives it Forge's own tools while it works on a phase.
	MCP bool `json:"mcp,omitempty"`
	// Checkout is the root of the user's checkout, against which a relative
	// Command[0] was resolved.
	Checkout string `json:"checkout,omitempty"`
	// Continues says that a session can be continued, so that later
	// iterations get the feedback only. ReportsCost says that usage comes
	// with money, Listens that it takes what a person says while it works. All
	// are facts of the kind, filled in at run start.
	Continues   bool `json:"continues,omitempty"`
	ReportsCost bool `json:"reports_cost,omitempty"`
	Listens     bool `json:"listens,omitempty"`
}

// PhaseSettings is what one phase runs with.
type PhaseSettings struct {
	Budget        int            `json:"budget"` // iterations
	Agent         string         `json:"agent"`
	Agents        []string       `json:"agents,omitempty"` // of several, in the order in which they are wanted
	Model         string         `json:"model,omitempty"`
	Permission    PermissionMode `json:"permission"`
	AskIteration  bool           `json:"ask_iteration,omitempty"` // from the deprecated "strict"
	Verify        []string       `json:"verify,omitempty"`        // the commands that prove it
	VerifyOwn     bool           `json:"verify_own,omitempty"`    // Verify is the phase's own list
	MayChange     []string       `json:"may_change,omitempty"`
	IterationSecs int            `json:"iteration_secs"`
	ContextTokens int64          `json:"context_tokens,omitempty"` // 0 = no limit
	Skills        []string       `json:"skills,omitempty"`
	Sensitive     string         `json:"sensitive,omitempty"` // the pattern that matched, "" = not
	Levels        []string       `json:"levels,omitempty"`    // of the phase and of its agent, by name; they bound that of the run
	Reviewed      bool           `json:"reviewed,omitempty"`
	// Reviewers look at what the phase did; at least one where Reviewed is set.
	Reviewers []Specialist `json:"reviewers,omitempty"`
	MaxFixes  int          `json:"max_fixes,omitempty"` // fixes that the arbiter may ask for
	// ExpectSecs is how long phases like it took, when the run was opened; 0 = the past
	// does not say. It says what begins first, and bounds nothing.
	ExpectSecs int64 `json:"expect_secs,omitempty"`
	// Tries is how often it is tried side by side, 0 and 1 = once; by whom, in turn,
	// none = by its agent; and when they are over.
	Tries      int        `json:"tries,omitempty"`
	TryAgents  []TryAgent `json:"try_agents,omitempty"`
	TriesUntil string     `json:"tries_until,omitempty"`
	// Council judges the tries, and makes one more out of them; nil = none does.
	Council *Council `json:"council,omitempty"`
}
