package config

// Sandbox is [sandbox].
type Sandbox struct {
	Mode    *string  `toml:"mode" default:"\"auto\"" doc:"auto uses bubblewrap, else landlock, else warns; required refuses to run without one; off. A project may only say required." rule:"auto|required|off" only:"tighten"`
	Kind    *string  `toml:"kind" default:"\"machine\"" doc:"machine: the programs of this machine, shut in as mode says; container: those of an image, run by podman or docker, or nothing." rule:"machine|container" only:"user"`
	Image   *string  `toml:"image" doc:"The image of kind = \"container\", which the runtime has to have; nothing is fetched. Named by its digest it is always the same." sample:"\"localhost/forge-work:1\"" rule:"filled" only:"user"`
	Runtime *string  `toml:"runtime" doc:"Who runs the image; without a word podman where it is found, else docker." sample:"\"podman\"" rule:"podman|docker" only:"user"`
	Memory  *int     `toml:"memory_mb" doc:"Memory of all processes of a container together, in MB; one that needs more is ended." sample:"4096" rule:"min=6 max=10000000" only:"user"`
	PIDs    *int     `toml:"pids" doc:"Processes and threads of a container together." sample:"1000" rule:"min=1 max=4000000" only:"user"`
	Network Network  `toml:"network" default:"true" doc:"Whether agents and verify commands reach the network; or the only hosts that they reach, such as [\"packages.example.com\", \"*.example.org:443\"], beside the agent's own service. A list needs bubblewrap or a container. A project may say false, or name hosts that its user lets through." rule:"reach" only:"tighten"`
	Read    []string `toml:"read" default:"[]" doc:"Further paths to show read-only; absolute or from ~/." rule:"abspath" only:"user"`
	Write   []string `toml:"write" default:"[]" doc:"Further writable paths, such as caches; absolute or from ~/." rule:"abspath" only:"user"`
}

// Reviews is [reviews].
type Reviews struct {
	Enabled               *bool        `toml:"enabled" default:"false" doc:"Review every phase; sensitive phases are always reviewed."`
	Agent                 *string      `toml:"agent" doc:"The agent that reviews, without the right to change anything, where [llm] names no model." sample:"\"claude\"" rule:"filled"`
	Specialists           []Specialist `toml:"specialists" doc:"Changes a built-in reviewer or adds one of your own. The built-in ones are security and architecture, which gate, and performance and simplicity, which advise. .forge/review-prompts/security.md takes the place of that reviewer's own part of the prompt, and likewise for each."`
	Ignore                []string     `toml:"ignore" default:"[]" doc:"Globs of files that forge review asks nobody about, beside lock files, vendored and generated ones. Tests and what else proofs rest on, and what CI runs, are reviewed whatever stands here." rule:"pathglob"`
	Parallel              *bool        `toml:"parallel" default:"true" doc:"Ask all reviewers at the same time."`
	Mode                  *string      `toml:"mode" default:"\"auto\"" doc:"Only auto; manual and arbiter are deprecated and mean auto." rule:"auto|manual|arbiter"`
	Model                 *string      `toml:"model" doc:"The arbiter's model, instead of the one in [llm]; it is asked where llm.base_url is set." sample:"\"model-name\"" rule:"filled"`
	MaxFixAttempts        *int         `toml:"max_fix_attempts" default:"2" doc:"Iterations to fix what a review found; doubled in sensitive phases." rule:"min=0 max=1000"`
	AskAgainSecs          *int         `toml:"ask_again_secs" default:"15" doc:"Wait before a gating reviewer that gave no usable answer is asked again, in seconds; before the third and last time it is four times that." rule:"min=0 max=3600"`
	ConfidenceThreshold   *float64     `toml:"confidence_threshold" default:"0.7" doc:"From which confidence on minor findings may stand." rule:"min=0 max=1"`
	FailPhaseOnUnresolved *bool        `toml:"fail_phase_on_unresolved" default:"true" doc:"Fail a phase over unresolved major findings; critical ones always do."`
	EscalateOn            any          `toml:"escalate_on" used:"dropped" doc:"Deprecated, without effect." sample:"[]"`
	AutoProceedOn         any          `toml:"auto_proceed_on" used:"dropped" doc:"Deprecated, without effect." sample:"[]"`
}

// Specialist is one [[reviews.specialists]].
type Specialist struct {
	Type       *string  `toml:"type" doc:"security, architecture, performance, simplicity, or a name of your own." sample:"\"security\"" rule:"specialist"`
	Gate       *bool    `toml:"gate" doc:"Whether its findings hold the phase; without a word a built-in one stays as it is, and one of your own gates." sample:"true"`
	FocusAreas []string `toml:"focus_areas" doc:"What it looks at." sample:"[\"injection\"]" rule:"filled"`
}

// Autonomy is [autonomy].
type Autonomy struct {
	Enabled                    *bool             `toml:"enabled" doc:"true = preset full, false = preset interactive." sample:"false"`
	Level                      *string           `toml:"level" doc:"Where Forge waits for a person: the name of a level. Without one: interactive for runs, partial for jobs." sample:"\"interactive\"" rule:"preset" env:"FORGE_AUTONOMY"`
	Ceiling                    *string           `toml:"ceiling" doc:"The most that any run of this user may do by itself." sample:"\"full\"" rule:"preset" only:"user"`
	StaleIterationsBeforePivot *int              `toml:"stale_iterations_before_pivot" default:"3" doc:"Iterations without progress before the strategy must change; 0 = off." rule:"min=0 max=100000"`
	PivotPrompt                *string           `toml:"pivot_prompt" default:"\"\"" doc:"What the agent is told then; empty uses the built-in text."`
	SensitivePatterns          SensitivePatterns `toml:"sensitive_patterns" doc:"Phases that are always reviewed by all specialists."`
	AutoPromote                AutoPromote       `toml:"auto_promote" doc:"Whether a clean issue goes to done by itself."`
	Policy                     map[string]any    `toml:"policy" doc:"Single axes of the policy, over the preset."`
	CheckpointTypes            []string          `toml:"checkpoint_types" default:"[]" doc:"Types of checkpoint that agents may open beside deliverable. In preset semi_supervised the types named here stop, instead of phase_transition, deliverable and final_output." rule:"checkpointtype"`
	CheckpointExpiry           *string           `toml:"checkpoint_expiry" default:"\"\"" doc:"How long a question may be answered, from one minute on; empty = for ever. When its time is over nothing goes on, and forge resume asks it again." rule:"expiry"`
}

// SensitivePatterns is [autonomy.sensitive_patterns].
type SensitivePatterns struct {
	Patterns         []string `toml:"patterns" default:"[]" doc:"Globs over phase names, case-sensitive." rule:"nameglob"`
	ExtraFixAttempts *int     `toml:"extra_fix_attempts" doc:"Added to reviews.max_fix_attempts instead of doubling it." sample:"2" rule:"min=0 max=1000"`
}

// AutoPromote is [autonomy.auto_promote].
type AutoPromote struct {
	Enabled        *bool `toml:"enabled" default:"true" doc:"Promote at all."`
	PromoteOnClean *bool `toml:"promote_on_clean" default:"true" doc:"Promote when every review passed."`
}

// Notify is [notify], of the user's configuration.
type Notify struct {
	Command     []string `toml:"command" doc:"Program and arguments, without a shell; it gets the notice as JSON on standard input. By absolute path, from ~/, or by its name alone." sample:"[\"notify-forge\", \"--desktop\"]" rule:"filled some" only:"user"`
	Webhook     *string  `toml:"webhook" doc:"Address that the notice is posted to as JSON." sample:"\"https://hooks.example.com/forge\"" rule:"webhook" only:"user"`
	On          []string `toml:"on" default:"[\"frozen\", \"finished\"]" doc:"When: frozen (a person is asked, and nothing else can go on), finished (completed, failed, cancelled, or at a limit)." rule:"frozen|finished" only:"user"`
	TimeoutSecs *int     `toml:"timeout_secs" default:"10" doc:"The longest that a notice may hold up the end of a run, in seconds." rule:"min=1 max=60" only:"user"`
}

// Planning is [planning].
type Planning struct {
	Interactive *bool `toml:"interactive" doc:"true = preset partial, false = preset review; write autonomy.level instead." sample:"true"`
}

// Skills is [skills].
type Skills struct {
	Global []string `toml:"global" default:"[]" doc:"Skills of every phase." rule:"skill"`
}

// Trust is [trust], of the user's configuration.
type Trust struct {
	Hosts    []string                `toml:"hosts" default:"[]" doc:"Hosts that may receive a secret which a project's configuration names." rule:"host" only:"user"`
	Projects map[string]TrustProject `toml:"projects" doc:"By absolute path of the checkout." sample:"/home/me/project" only:"user"`
}

// TrustProject is one [trust.projects."/path"].
type TrustProject struct {
	Env []string `toml:"env" doc:"Secret variables that commands of this project may receive; PREFIX_* stands for all that begin so." sample:"[\"SERVICE_TOKEN\"]" rule:"grant" only:"user"`
	// Repositories are checkouts, which is why the owner of each says so.
	Repositories []string `toml:"repositories" doc:"Checkouts that this project's workspace.repositories may name, to be worked in and moved to results; absolute or from ~/." sample:"[\"/home/me/api\"]" rule:"abspath" only:"user"`
}

// LLM is [llm].
type LLM struct {
	BaseURL         *string           `toml:"base_url" doc:"Address of an OpenAI-compatible service, without a user or password in it." sample:"\"http://127.0.0.1:8080/v1\"" rule:"url"`
	Model           *string           `toml:"model" doc:"The model for everything that has no role." sample:"\"model-name\"" rule:"filled"`
	APIKeyEnv       *string           `toml:"api_key_env" doc:"Name of the variable that holds the key; without one none is sent." sample:"\"OPENAI_API_KEY\"" rule:"variable"`
	TimeoutSecs     *int              `toml:"timeout_secs" default:"120" doc:"Longest silence of the service while it answers, in seconds." rule:"min=1 max=86400"`
	ContextTokens   *int              `toml:"context_tokens" default:"100000" doc:"The most that one question may hold; a larger change is asked about in parts." rule:"min=4000 max=10000000"`
	MaxOutputTokens *int              `toml:"max_output_tokens" default:"8000" doc:"The most that one answer may hold, the model's thoughts included." rule:"min=256 max=1000000"`
	USDPerMTokIn    *float64          `toml:"usd_per_mtok_in" doc:"Price of a million input tokens; without both prices the cost is unknown." sample:"3.0" rule:"min=0"`
	USDPerMTokOut   *float64          `toml:"usd_per_mtok_out" doc:"Price of a million output tokens." sample:"15.0" rule:"min=0"`
	Roles           map[string]string `toml:"roles" doc:"Model by role: reviewer, arbiter, triage, companion, embedding. The last makes vectors for forge search; without it none are made." sample:"{ arbiter = \"model-name\" }"`

	EmbeddingDayTokens *int `toml:"embedding_day_tokens" default:"10000000" doc:"The most tokens that vectors for forge search may take on one day (UTC); what is left waits for the next. 0 = no limit." rule:"min=0 max=2000000000"`
	EmbeddingNumbers   *int `toml:"embedding_numbers" doc:"Keep so many numbers of each vector, from its beginning, which makes them smaller. Only for models that are made for it (Matryoshka); the vectors of others come to mean nothing. Without it all are kept." sample:"256" rule:"min=64 max=8192"`

	Tiers map[string]string `toml:"tiers" doc:"Tier by model, rising: local_tool_calling, local_fast, frontier_fast (where nothing is said), frontier_balanced, frontier_best, agent_headless, user." sample:"{ model-name = \"frontier_fast\" }"`
}

// Companion is [companion].
type Companion struct {
	MaxUSD    *float64 `toml:"max_usd" default:"1.0" doc:"The most that one conversation may cost, in dollars; held against the prices of [llm], where both are set." rule:"positive"`
	MaxTokens *int64   `toml:"max_tokens" default:"2000000" doc:"The most tokens that one conversation may take, whatever they cost." rule:"min=1"`
	MaxCalls  *int     `toml:"max_calls" default:"24" doc:"How many tools may be called for one question." rule:"min=1 max=200"`
}

// Factory is [factory].
type Factory struct {
	Target        *string                 `toml:"target" default:"\"forge/landed\"" doc:"Branch that finished issues are merged into, made where HEAD is when there is none. Where you have it checked out, it moves forward with your files; one that another worktree has out is never moved. With a code host: the branch there, its default branch where this is not set." rule:"branch"`
	DefaultPolicy *string                 `toml:"default_policy" default:"\"plan_then_review\"" doc:"Level of issues that name none." rule:"filled"`
	Plan          *string                 `toml:"plan" default:"\"auto\"" doc:"auto = an agent that can drafts the plan of an issue, else it is one phase; single = always one phase; draft = always drafted." rule:"auto|single|draft"`
	Triage        *string                 `toml:"triage" default:"\"auto\"" doc:"Who says what an issue wants, touches and needs done before it is planned. auto = the model of [llm], else the agent where it is one of a known kind, else a person; model; agent; off = nobody, each issue goes straight to its plan." rule:"auto|model|agent|off"`
	TriageCallUSD *float64                `toml:"triage_call_usd" default:"0.05" doc:"Set aside of the policy's budget_usd before each question of triage, and spent where the answer does not report its cost." rule:"min=0 max=1000"`
	MaxRunning    *int                    `toml:"max_running" default:"2" doc:"The most issues that are worked on at once." rule:"min=0 max=1000"`
	Labels        map[string]FactoryLabel `toml:"labels" doc:"What holds for issues with a label; of those from a tracker, labels that somebody gave who may write. See listening.md." sample:"large"`
	Schedules     []Schedule              `toml:"schedules" doc:"Issues that are put on the board at times of their own. See listening.md."`
	Estimate      *bool                   `toml:"estimate" default:"false" doc:"Say on the issue's tracker, before the work on it begins, what its plan may take."`
	MaxInReview   *int                    `toml:"max_in_review" doc:"Stop claiming issues at this many in review; nothing = no limit." sample:"5" rule:"min=1"`
}

// Schedule is one of [[factory.schedules]].
type Schedule struct {
	Name     *string  `toml:"name" doc:"By which it is known: small letters, digits, - and _." sample:"\"weekly-updates\""`
	Cron     *string  `toml:"cron" doc:"When: minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly, @monthly." sample:"\"0 6 * * mon\"" rule:"cron"`
	Timezone *string  `toml:"timezone" doc:"By whose clock; UTC when not set." sample:"\"Europe/Berlin\"" rule:"timezone"`
	Title    *string  `toml:"title" doc:"Title of the issue; {date} is the day on which it is due." sample:"\"Update dependencies, {date}\""`
	Text     *string  `toml:"text" doc:"Its text, as Markdown; {date} as in the title." sample:"\"Update what has a new patch version.\""`
	Labels   []string `toml:"labels" doc:"Its labels." sample:"[\"chore\"]"`
	Criteria []string `toml:"criteria" doc:"What its result is held against." sample:"[\"the tests pass\"]"`
	Level    *string  `toml:"level" doc:"Its level; as the factory is configured when not set." sample:"\"plan_then_review\"" rule:"preset"`
	Priority *string  `toml:"priority" doc:"Its priority; normal when not set." sample:"\"low\"" rule:"low|normal|high|urgent"`
	Column   *string  `toml:"column" doc:"Where it is put: ready, or backlog, where a person looks first; ready when not set." sample:"\"ready\"" rule:"ready|backlog"`
	SkipOpen *bool    `toml:"skip_open" doc:"Put none on the board while the last one is not done; true when not set." sample:"true"`
}
