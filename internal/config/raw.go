package config

// File is everything that a forge.toml may say. nil is "not said". The tags are
// the single source of names, defaults, rules and documentation:
//
//	toml     the key
//	doc      what it means, one sentence
//	default  TOML literal of the built-in default
//	sample   TOML literal for the example, where there is no default
//	rule     checks, see rules.go; a|b is a closed list of words
//	env      variable that sets it, above the files
//	only     "user": the user's configuration alone may set it;
//	         "tighten": a project may only make it stricter
//	used     "no": accepted, checked, but without effect yet
type File struct {
	Project       Project               `toml:"project" doc:"The project itself."`
	Defaults      Defaults              `toml:"defaults" doc:"What every phase starts from; a phase of the plan and a matching override may say otherwise."`
	Agent         AgentChoice           `toml:"agent" doc:"Which agent works, and how long to wait for it."`
	Agents        map[string]Agent      `toml:"agents" doc:"Agents by name. The built-in kinds need no entry; an entry of the same name changes them." sample:"reviewed"`
	Phases        Phases                `toml:"phases" doc:"Settings for phases whose name matches a glob (case-sensitive). Several may match: they apply in the order of the file, the later one wins."`
	Worktree      Worktree              `toml:"worktree" doc:"What a fresh folder needs before work can start: it has no node_modules, virtual environment or .env."`
	Workspace     Workspace             `toml:"workspace" doc:"Work in several repositories at once, which lands in all of them or in none."`
	Verify        Verify                `toml:"verify" doc:"The commands that prove a phase. Forge runs them, never the agent."`
	Proof         Proof                 `toml:"proof" doc:"What counts as product and what as evidence, and how much a green proof is asked again."`
	Limits        Limits                `toml:"limits" doc:"Time limits of one iteration, in seconds."`
	Cost          Cost                  `toml:"cost" doc:"Caps on money and tokens. None by default. A cap that is hit ends the run, resumable."`
	Sandbox       Sandbox               `toml:"sandbox" doc:"What agents and verify commands can see and reach. Belongs to the user's configuration; a project may only make it stricter."`
	Reviews       Reviews               `toml:"reviews" doc:"Reviews of what a phase did, after it is proven."`
	Autonomy      Autonomy              `toml:"autonomy" doc:"Where a person decides. Choose one preset by level, or by the older switch enabled."`
	Notify        Notify                `toml:"notify" doc:"Who is told when a run freezes or ends. Only in the user's configuration: a repository starts no program and sends nothing."`
	Planning      Planning              `toml:"planning" doc:"An older way to choose a preset."`
	Skills        Skills                `toml:"skills" doc:"Texts under .forge/skills/ that go into the prompts."`
	Trust         Trust                 `toml:"trust" doc:"Where secrets may go that a project's configuration names. Only in the user's configuration."`
	DataSources   map[string]DataSource `toml:"datasources" doc:"What jobs may look into, by name; a job gets those that it is started with (--data)." sample:"handbook"`
	Job           Job                   `toml:"job" doc:"Jobs: work without a fixed plan."`
	LLM           LLM                   `toml:"llm" doc:"The model that Forge itself asks: reviewers, the arbiter and the companion."`
	Companion     Companion             `toml:"companion" doc:"What a question to the companion may take. Its model is that of [llm]. See companion.md."`
	Decomposition Decomposition         `toml:"decomposition" more:"unused" doc:"When a phase is split into parts, and into how many. Other keys are let pass."`
	Hooks         Hooks                 `toml:"hooks" more:"unused" doc:"Commands and questions at points of a run, as [[hooks.definitions]], or in .forge/hooks.toml as [[hooks]]. See hooks.md."`
	Factory       Factory               `toml:"factory" more:"unused" doc:"The loop that turns issues into runs, and lands them. Other keys, of the Rust Forge, are let pass."`
	Server        Server                `toml:"server" doc:"The factory's pages: where they are served and to whom. Only in the user's configuration."`
	Host          Host                  `toml:"host" doc:"The code host that pull requests go to."`
	Trackers      map[string]Tracker    `toml:"trackers" doc:"Where issues are taken from, by name, and told how they stand. Only in the user's configuration." sample:"work" only:"user"`
	Slack         Slack                 `toml:"slack" doc:"A channel in Slack where people are asked, and answer. Only in the user's configuration. See slack.md."`
	Store         Store                 `toml:"store" doc:"Where the journal stands."`
	Engine        Engine                `toml:"engine" doc:"What drives runs: this machine alone, or a Temporal server and its workers. Only in the user's configuration. See many-machines.md."`
	Worker        Worker                `toml:"worker" doc:"What this machine does for a Temporal server. Only in the user's configuration."`
	Claude        map[string]any        `toml:"claude" used:"no" doc:"Of the Rust Forge; see [agents.claude]."`
	Council       Council               `toml:"council" more:"unused" doc:"Phases that several workers do, who judge each other. Other keys are let pass."`
	Swarm         map[string]any        `toml:"swarm" used:"no" doc:"Of the Rust Forge; phases run in parallel by themselves, see defaults.max_parallel."`
}

// Project is [project].
type Project struct {
	Name      *string `toml:"name" doc:"Name shown in status and reports; the folder's name when not set." sample:"\"my-project\"" rule:"filled"`
	ClaudeCmd *string `toml:"claude_cmd" doc:"Command of the claude agent; the older way to write agents.claude.command." sample:"\"claude\"" rule:"filled" env:"CLAUDE_CMD"`
}

// Hooks is [hooks]; its definitions are read by readHooks.
type Hooks struct {
	Ignore *bool `toml:"ignore" default:"false" doc:"Run no hook, and start unattended runs although hooks could have held them." only:"user" env:"FORGE_IGNORE_HOOKS"`
}

// Defaults is [defaults].
type Defaults struct {
	Budget               *int    `toml:"budget" default:"8" doc:"Iterations that a phase may use." rule:"min=1 max=100000" env:"FORGE_BUDGET"`
	AutoApproveThreshold *int    `toml:"auto_approve_threshold" default:"5" doc:"In preset interactive a phase starts unasked when each direct dependency changed at least one and at most this many files; 0 always asks." rule:"min=0" env:"FORGE_AUTO_APPROVE_THRESHOLD"`
	PermissionMode       *string `toml:"permission_mode" default:"\"standard\"" doc:"What an agent may do: standard, autonomous (same rights, starts unasked) or readonly. strict is deprecated." rule:"standard|autonomous|readonly|strict"`
	ContextLimit         *string `toml:"context_limit" default:"\"\"" doc:"Start a new session beyond this many tokens (\"120000\") or this share of a window of 200000 (\"80%\"); empty leaves it to the agent." rule:"context"`
	SkipPermissions      *bool   `toml:"skip_permissions" default:"false" doc:"Without a sandbox, let the agent run any command instead of edits and the verify commands only." env:"FORGE_SKIP_PERMISSIONS"`
	MaxParallel          *int    `toml:"max_parallel" default:"4" doc:"Phases that run at the same time." rule:"min=1 max=1024" env:"FORGE_MAX_PARALLEL"`
	MergeBatch           *int    `toml:"merge_batch" default:"50" doc:"Phases of a run, or results of issues (on a code host see trains.md), that wait to be merged and are merged and verified together, at most; 1 merges one at a time." rule:"min=1 max=200"`
	FailFast             *bool   `toml:"fail_fast" default:"false" doc:"Start nothing new once a phase has failed."`

	Requires []string `toml:"requires" default:"[]" doc:"What a worker needs to have for the work of this project, as its worker.has names it, such as docker; see many-machines.md. On one machine it says nothing." rule:"filled"`
}

// AgentChoice is [agent].
type AgentChoice struct {
	Use        Agents  `toml:"use" default:"\"claude\"" doc:"The agent of every phase that names none. Of several, such as [\"claude\", \"codex\"], the next goes on while the provider of one limits or is down." rule:"filled some" env:"FORGE_AGENT"`
	OutageWait *string `toml:"outage_wait" default:"\"30m\"" doc:"How long to wait for a provider that limits or is down before the run ends, resumable." rule:"duration"`
}

// Agent is one [agents.<name>].
type Agent struct {
	Kind            *string           `toml:"kind" doc:"How to talk to it: claude, codex, opencode, gemini, acp, exec (any command: prompt on stdin, text on stdout) or script. Not needed where the name is a kind." sample:"\"exec\"" rule:"claude|codex|opencode|gemini|acp|exec|script"`
	Model           *string           `toml:"model" doc:"Model to ask the agent for; its own default when not set." sample:"\"model-name\"" rule:"filled"`
	Command         []string          `toml:"command" doc:"Program and arguments, without a shell. A relative path is taken from the project's checkout." sample:"[\"./agent.sh\", \"--flag\"]" rule:"filled some"`
	Args            []string          `toml:"args" doc:"Arguments appended to the command line of a built-in kind." sample:"[\"--verbose\"]"`
	File            *string           `toml:"file" doc:"Script of a script agent, from the project's checkout." sample:"\"script.toml\"" rule:"filled"`
	Env             []string          `toml:"env" doc:"Names of variables let through from Forge's own environment." sample:"[\"EXTRA_VARIABLE\"]" rule:"variable"`
	SetEnv          map[string]string `toml:"set_env" doc:"Variables with fixed values; never secrets." sample:"{ MODE = \"ci\" }" rule:"variable"`
	USDPerMTokIn    *float64          `toml:"usd_per_mtok_in" doc:"Price of a million input tokens, for agents that report tokens but no money." sample:"3.0" rule:"min=0"`
	USDPerMTokOut   *float64          `toml:"usd_per_mtok_out" doc:"Price of a million output tokens." sample:"15.0" rule:"min=0"`
	SkipPermissions *bool             `toml:"skip_permissions" doc:"As defaults.skip_permissions, for this agent." sample:"false"`
	MCP             *bool             `toml:"mcp" doc:"Give it Forge's tools while it works on a phase, see mcp.md: to read about that phase, and to ask a person. false where nothing is said." sample:"true"`
	Level           *string           `toml:"level" doc:"Phases that this agent works on ask at least where this level asks." sample:"\"guided\"" rule:"preset"`
}

// Phases is [phases].
type Phases struct {
	Overrides map[string]Override `toml:"overrides" doc:"Settings of the phases whose name the glob matches." sample:"database-*" rule:"nameglob"`
}

// Override is one [phases.overrides."glob"].
type Override struct {
	Budget               *int           `toml:"budget" doc:"Iterations the phase may use." sample:"12" rule:"min=1 max=100000"`
	PermissionMode       *string        `toml:"permission_mode" doc:"As in [defaults]." sample:"\"readonly\"" rule:"standard|autonomous|readonly|strict"`
	ContextLimit         *string        `toml:"context_limit" doc:"As in [defaults]." sample:"\"60%\"" rule:"context"`
	Skills               []string       `toml:"skills" doc:"Further skills." sample:"[\"migrations\"]" rule:"skill"`
	Agent                Agents         `toml:"agent" doc:"The agent of these phases, or several in the order in which they are wanted." sample:"[\"claude\", \"codex\"]" rule:"filled some"`
	Model                *string        `toml:"model" doc:"The model of these phases." sample:"\"model-name\"" rule:"filled"`
	Verify               []string       `toml:"verify" doc:"Commands that prove these phases, instead of verify.commands." sample:"[\"make test-db\"]" rule:"filled some"`
	Tries                *int           `toml:"tries" doc:"Try these phases so often, side by side from the same base; one try that is proven is taken, see tries.md." sample:"3" rule:"min=1 max=10"`
	TryAgents            []string       `toml:"try_agents" doc:"Who makes the tries, in turn: AGENT, or AGENT:MODEL. Without it each is made by the phase's agent." sample:"[\"claude\", \"codex\"]" rule:"filled some"`
	TriesUntil           *string        `toml:"tries_until" doc:"best: all tries come to their end, and the best one is taken. first: the first one that is proven with nothing against it is taken, and the others are stopped." sample:"\"first\"" rule:"best|first"`
	Level                *string        `toml:"level" doc:"These phases ask at least where this level asks; the run's own level holds as well." sample:"\"guided\"" rule:"preset"`
	IterationTimeoutSecs *int           `toml:"iteration_timeout_secs" doc:"Longest iteration, instead of limits.iteration_secs." sample:"7200" rule:"min=1 max=2592000"`
	Requires             []string       `toml:"requires" doc:"What a worker needs to have for these phases, beside defaults.requires." sample:"[\"gpu\"]" rule:"filled"`
	Council              CouncilSwitch  `toml:"council" more:"unused" doc:"The council of these phases." sample:"{ enabled = true }"`
	Swarm                map[string]any `toml:"swarm" used:"no" doc:"Of the Rust Forge." sample:"{}"`
}

// Worktree is [worktree].
type Worktree struct {
	Setup       []string `toml:"setup" default:"[]" doc:"Shell commands that make a fresh folder ready, run once per content of the cache_key files." rule:"filled"`
	Copy        []string `toml:"copy" default:"[]" doc:"Globs of ignored files of the checkout to copy in, such as .env.test." rule:"pathglob"`
	Link        []string `toml:"link" default:"[]" doc:"Globs of ignored files or folders to link in, read-only." rule:"pathglob"`
	CacheKey    []string `toml:"cache_key" default:"[]" doc:"Globs of the files that setup depends on, such as package-lock.json; none: setup runs for each folder." rule:"pathglob"`
	TimeoutSecs *int     `toml:"timeout_secs" default:"900" doc:"Longest time of one setup command, in seconds." rule:"min=1 max=2592000"`
}

// Verify is [verify].
type Verify struct {
	Commands         []string `toml:"commands" default:"[]" doc:"Shell commands, run in order until one fails. Without any, a phase is done by its claim alone." rule:"filled"`
	TimeoutSecs      *int     `toml:"timeout_secs" default:"600" doc:"Longest time of one command, in seconds; more is a failure." rule:"min=1 max=2592000"`
	Protected        []string `toml:"protected" default:"[\"@default\"]" doc:"Globs of your own for files that the proof rests on: they are evidence, as those of proof.evidence. \"@default\" and \"@tests\" stand for what Forge knows by itself, with or without them." rule:"protected"`
	AllowRedBaseline *bool    `toml:"allow_red_baseline" default:"false" doc:"Start although the commands fail before anything was changed."`
	None             *bool    `toml:"none" default:"false" doc:"The owner's word that this project needs no proof."`
	OneHome          *bool    `toml:"one_home" default:"false" doc:"Let the commands of one proof share a home, for a project whose later commands need what earlier ones left there. What one command writes there can then decide what the next one says."`
	MayWrite         []string `toml:"may_write" default:"[]" doc:"Globs of tracked files that the commands may change, such as what a generator writes. A change of any other tracked file while the commands run fails the phase." rule:"pathglob"`
	Cache            []string `toml:"cache" default:"[]" doc:"Further caches that proofs of accepted work fill and other proofs are lent, beside those of known tools: a path below the home such as \"~/.cache/tool\", or the name of a variable by which a tool finds its cache, such as \"CARGO_TARGET_DIR\". A cache that keeps results of tests can make a proof green that is not." sample:"[\"CARGO_TARGET_DIR\"]" rule:"cache"`
	Cold             *bool    `toml:"cold" default:"false" doc:"Run each proof with empty caches, those of known tools too."`
	Reuse            *string  `toml:"reuse" default:"\"7d\"" doc:"How old a green proof may be that stands for the same one once more: the same files, commands, environment, settings and tools. \"off\": the commands run each time, for tests whose answer depends on the day or on a service." rule:"reuse"`
}

// Proof is [proof].
type Proof struct {
	Product     []string    `toml:"product" default:"[]" doc:"Globs of files that are product, where Forge takes them for evidence. See forge evidence." rule:"pathglob"`
	Evidence    []string    `toml:"evidence" default:"[]" doc:"Globs of files that are evidence, where Forge takes them for product." rule:"pathglob"`
	Controls    *bool       `toml:"controls" default:"true" doc:"Ask test runners directly what a green proof is worth: whether every test that passed before ran and passed, whether a test can still fail, and whether a test notices the loss of what was changed."`
	ControlSecs *int        `toml:"control_secs" default:"0" doc:"Longest time of these controls, in seconds; 0 = as long as the verify commands took." rule:"min=0 max=86400"`
	Unproven    *string     `toml:"unproven" default:"\"hold\"" doc:"What follows from a change whose loss no test notices: hold the result for a person, or say so and go on." rule:"hold|say"`
	Ablate      *string     `toml:"ablate" default:"\"off\"" doc:"Take back each part of a change by itself and look whether a test notices: off, report it, or require it (what nothing depends on, or there was no time to look at, holds the result)." rule:"off|report|require"`
	AblateSecs  *int        `toml:"ablate_secs" default:"0" doc:"Longest time of that, in seconds; 0 = as long as the verify commands took." rule:"min=0 max=86400"`
	RestSecs    *int        `toml:"rest_secs" default:"0" doc:"Longest time for what there was no time for at a claim, in seconds and for each phase: it is tried at the end of the run, before the result is delivered. 0 = four times as long as the verify commands took." rule:"min=0 max=86400"`
	Hidden      []string    `toml:"hidden" default:"[]" doc:"Folders out of the checkout with a hidden.toml: checks that every proof has to pass and that no agent sees. Absolute or from ~/. See docs/evidence.md." rule:"abspath"`
	Also        []string    `toml:"also" default:"[]" doc:"Commands of a second profile that every proof has to pass as well, such as the tests with the race detector or in release mode." rule:"filled"`
	Pages       []ProofPage `toml:"pages" doc:"Pages that every proof shows in a browser, before and after: one that cannot be shown, or has errors that it did not have, is red. See pages.md."`
}

// ProofPage is one [[proof.pages]].
type ProofPage struct {
	URL         *string  `toml:"url" doc:"Its address, on this machine." sample:"\"http://localhost:3000/\""`
	Start       *string  `toml:"start" doc:"Shell command that serves it, run in the proven folder, in a sandbox without a network. It goes on until it is ended." sample:"\"npm run preview -- --port 3000\""`
	Wait        *string  `toml:"wait" doc:"Selector of an element that has to be seen before the page is shown; without it, until the page has loaded and asks for nothing more." sample:"\"#app .ready\"" rule:"filled"`
	Viewport    *string  `toml:"viewport" doc:"Size of the window, in pixels; 1280x800 when not set." sample:"\"390x844\""`
	Steps       []string `toml:"steps" doc:"What is done on it first, in order: click SELECTOR, type SELECTOR TEXT, press KEY, wait SELECTOR. Each is kept as a picture." sample:"[\"type #name Ann\", \"click #save\", \"wait .done\"]" rule:"filled"`
	TimeoutSecs *int     `toml:"timeout_secs" doc:"Longest time for all of it, with the start of its server but not of the browser, in seconds; 60 when not set." sample:"60" rule:"min=1 max=3600"`
	Errors      *string  `toml:"errors" doc:"What follows from errors of its scripts and failed requests that are new: fail the proof, or say so and go on; fail when not set." sample:"\"fail\"" rule:"fail|say"`
}

// Limits is [limits].
type Limits struct {
	StartSecs      *int `toml:"start_secs" default:"60" doc:"Until the agent's first sign of life; 0 = no limit." rule:"min=0 max=2592000"`
	IdleSecs       *int `toml:"idle_secs" default:"900" doc:"Without a sign of life; a running tool counts as one; 0 = no limit." rule:"min=0 max=2592000"`
	IterationSecs  *int `toml:"iteration_secs" default:"3600" doc:"A whole iteration." rule:"min=1 max=2592000"`
	PostResultSecs *int `toml:"post_result_secs" default:"30" doc:"From the agent's result to its exit." rule:"min=1 max=86400"`
	DrainSecs      *int `toml:"drain_secs" default:"10" doc:"How long pipes may stay open after the exit." rule:"min=1 max=86400"`
}

// Cost is [cost].
type Cost struct {
	IterationUSD    *float64 `toml:"iteration_usd" doc:"The most that one iteration may cost, in dollars; also what is reserved for one that reports nothing." sample:"2.0" rule:"positive"`
	PhaseUSD        *float64 `toml:"phase_usd" doc:"The most that one phase may cost, in dollars." sample:"10.0" rule:"positive"`
	RunUSD          *float64 `toml:"run_usd" doc:"The most that one run may cost, in dollars." sample:"50.0" rule:"positive" env:"FORGE_RUN_USD"`
	DayUSD          *float64 `toml:"day_usd" doc:"The most that a calendar day (UTC) may cost in this project, in dollars." sample:"100.0" rule:"positive"`
	IterationTokens *int64   `toml:"iteration_tokens" doc:"Tokens of one iteration." sample:"500000" rule:"min=1"`
	PhaseTokens     *int64   `toml:"phase_tokens" doc:"Tokens of one phase." sample:"4000000" rule:"min=1"`
	RunTokens       *int64   `toml:"run_tokens" doc:"Tokens of one run." sample:"20000000" rule:"min=1" env:"FORGE_RUN_TOKENS"`
	DayTokens       *int64   `toml:"day_tokens" doc:"Tokens of one calendar day (UTC) in this project." sample:"40000000" rule:"min=1"`
}
