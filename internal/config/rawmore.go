package config

// Sandbox is [sandbox].
type Sandbox struct {
	Mode    *string  `toml:"mode" default:"\"auto\"" doc:"auto uses bubblewrap, else landlock, else warns; required refuses to run without one; off. A project may only say required." rule:"auto|required|off" only:"tighten"`
	Network *bool    `toml:"network" default:"true" doc:"Whether agents and verify commands reach the network. A project may only say false." only:"tighten"`
	Read    []string `toml:"read" default:"[]" doc:"Further paths to show read-only; absolute or from ~/." rule:"abspath" only:"user"`
	Write   []string `toml:"write" default:"[]" doc:"Further writable paths, such as caches; absolute or from ~/." rule:"abspath" only:"user"`
}

// Reviews is [reviews].
type Reviews struct {
	Enabled               *bool        `toml:"enabled" default:"false" doc:"Review every phase; sensitive phases are always reviewed."`
	Specialists           []Specialist `toml:"specialists" doc:"Who reviews; the built-in security and architecture gate, performance and simplicity advise."`
	Parallel              *bool        `toml:"parallel" default:"true" doc:"Ask all reviewers at the same time."`
	Mode                  *string      `toml:"mode" default:"\"auto\"" doc:"Only auto; manual and arbiter are deprecated and mean auto." rule:"auto|manual|arbiter"`
	Model                 *string      `toml:"model" doc:"The arbiter's model." sample:"\"model-name\"" rule:"filled"`
	MaxFixAttempts        *int         `toml:"max_fix_attempts" default:"2" doc:"Iterations to fix what a review found; doubled in sensitive phases." rule:"min=0 max=1000"`
	ConfidenceThreshold   *float64     `toml:"confidence_threshold" default:"0.7" doc:"From which confidence on minor findings may stand." rule:"min=0 max=1"`
	FailPhaseOnUnresolved *bool        `toml:"fail_phase_on_unresolved" default:"true" doc:"Fail a phase over unresolved major findings; critical ones always do."`
	EscalateOn            any          `toml:"escalate_on" used:"dropped" doc:"Deprecated, without effect." sample:"[]"`
	AutoProceedOn         any          `toml:"auto_proceed_on" used:"dropped" doc:"Deprecated, without effect." sample:"[]"`
}

// Specialist is one [[reviews.specialists]].
type Specialist struct {
	Type       *string  `toml:"type" doc:"security, architecture, performance, simplicity, or a name of your own." sample:"\"security\"" rule:"filled"`
	Gate       *bool    `toml:"gate" doc:"Whether its findings hold the phase." sample:"true"`
	FocusAreas []string `toml:"focus_areas" doc:"What it looks at." sample:"[\"injection\"]" rule:"filled"`
}

// Autonomy is [autonomy].
type Autonomy struct {
	Enabled                    *bool             `toml:"enabled" doc:"true = preset autonomous, false = preset interactive." sample:"false"`
	Level                      *string           `toml:"level" doc:"The preset: where a person decides." sample:"\"interactive\"" rule:"preset" env:"FORGE_AUTONOMY"`
	Ceiling                    *string           `toml:"ceiling" doc:"The most that any run of this user may do by itself." sample:"\"autonomous\"" rule:"preset" only:"user"`
	StaleIterationsBeforePivot *int              `toml:"stale_iterations_before_pivot" default:"3" doc:"Iterations without progress before the strategy must change; 0 = off." rule:"min=0 max=100000"`
	PivotPrompt                *string           `toml:"pivot_prompt" default:"\"\"" doc:"What the agent is told then; empty uses the built-in text."`
	SensitivePatterns          SensitivePatterns `toml:"sensitive_patterns" doc:"Phases that are always reviewed by all specialists."`
	AutoPromote                AutoPromote       `toml:"auto_promote" doc:"Whether a clean issue goes to done by itself."`
	Policy                     map[string]any    `toml:"policy" doc:"Single axes of the policy, over the preset."`
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
}

// LLM is [llm].
type LLM struct {
	BaseURL   *string           `toml:"base_url" doc:"Address of an OpenAI-compatible service." sample:"\"http://127.0.0.1:8080/v1\"" rule:"url"`
	Model     *string           `toml:"model" doc:"The model for everything that has no role." sample:"\"model-name\"" rule:"filled"`
	APIKeyEnv *string           `toml:"api_key_env" doc:"Name of the variable that holds the key." sample:"\"OPENAI_API_KEY\"" rule:"variable"`
	Roles     map[string]string `toml:"roles" doc:"Model by role." sample:"{ arbiter = \"model-name\" }"`
	Tiers     map[string]string `toml:"tiers" doc:"Tier by model." sample:"{ model-name = \"frontier_fast\" }"`
}

// Factory is [factory].
type Factory struct {
	Target        *string `toml:"target" doc:"Branch that finished issues are merged into." sample:"\"main\"" rule:"filled"`
	DefaultPolicy *string `toml:"default_policy" doc:"Preset of issues that name none." sample:"\"plan_then_review\"" rule:"filled"`
	MaxInReview   *int    `toml:"max_in_review" doc:"Stop claiming issues at this many in review." sample:"5" rule:"min=1"`
}
