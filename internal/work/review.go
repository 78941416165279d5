package work

import (
	"fmt"
	"strings"
	"time"
)

// Severity says how bad a finding is.
type Severity string

const (
	SeverityCritical Severity = "critical"
	SeverityMajor    Severity = "major"
	SeverityMinor    Severity = "minor"
)

// Severities lists every severity, worst first.
func Severities() []Severity { return []Severity{SeverityCritical, SeverityMajor, SeverityMinor} }

// Known says that s is one of the severities.
func (s Severity) Known() bool {
	return s == SeverityCritical || s == SeverityMajor || s == SeverityMinor
}

// Verdict is what a reviewer says of a change.
type Verdict string

const (
	VerdictPass    Verdict = "pass"
	VerdictWarn    Verdict = "warn"
	VerdictFail    Verdict = "fail"
	VerdictUnknown Verdict = "unknown" // no usable answer; never a pass
)

// Known says that v is one of the verdicts.
func (v Verdict) Known() bool {
	return v == VerdictPass || v == VerdictWarn || v == VerdictFail || v == VerdictUnknown
}

// Finding is one thing a reviewer objects to.
type Finding struct {
	Specialist string   `json:"specialist"`
	Also       []string `json:"also,omitempty"` // other specialists that found the same
	// Merged is how many more findings this one stands for: what the same
	// specialist said again, and what the others in Also said.
	Merged     int      `json:"merged,omitempty"`
	Severity   Severity `json:"severity"`
	File       string   `json:"file,omitempty"` // empty only in findings of Forge's own
	Line       int      `json:"line,omitempty"` // of the new file, from 1
	EndLine    int      `json:"end_line,omitempty"`
	Issue      string   `json:"issue"`
	Failure    string   `json:"failure,omitempty"` // what it leads to
	Suggestion string   `json:"suggestion,omitempty"`
	Repro      string   `json:"repro,omitempty"` // a command or test that shows it
	// Replacement is what mends it in place of the lines from Line to EndLine,
	// exactly; nil = nothing does. Empty takes them out.
	Replacement *string `json:"replacement,omitempty"`
}

// StandsFor says that f is more than one finding, "" where it is not.
func (f Finding) StandsFor() string {
	if f.Merged <= 0 {
		return ""
	}
	return fmt.Sprintf("%d findings in one", f.Merged+1)
}

// By says who found f, and that it is more than one finding where it is.
func (f Finding) By() string {
	by := f.Specialist
	if len(f.Also) > 0 {
		by += ", also " + strings.Join(f.Also, ", ")
	}
	if many := f.StandsFor(); many != "" {
		by += "; " + many
	}
	return by
}

// MergedFindings is how many of them went into others.
func MergedFindings(all []Finding) (n int) {
	for _, f := range all {
		n += max(f.Merged, 0)
	}
	return n
}

// Specialist is a reviewer as it is configured for one phase.
type Specialist struct {
	Name       string   `json:"name"`
	Gating     bool     `json:"gating"` // its failure holds the phase
	FocusAreas []string `json:"focus_areas,omitempty"`
	Prompt     string   `json:"prompt,omitempty"` // replaces the built-in one
}

// ReviewSettings is what reviews and the arbiter run with, see [reviews].
type ReviewSettings struct {
	// By says who reviews: "llm", "agent:<name>", or empty where nobody can be
	// asked.
	By        string  `json:"by,omitempty"`
	Model     string  `json:"model,omitempty"`   // of the reviewers
	Arbiter   string  `json:"arbiter,omitempty"` // the arbiter's model, "" = rules alone
	OneByOne  bool    `json:"one_by_one,omitempty"`
	Threshold float64 `json:"threshold"` // confidence from which minor findings may stand
	// KeepMajor lets a phase go on with unresolved major findings
	// (fail_phase_on_unresolved = false); critical ones never do.
	KeepMajor bool `json:"keep_major,omitempty"`
	// AskAgainSecs is the wait before a gating reviewer without a usable answer
	// is asked again; nil = 15.
	AskAgainSecs *int `json:"ask_again_secs,omitempty"`
}

// AskWait is how long to wait before the ask that follows the given number of
// them, from 1: four times as long each time.
func (r ReviewSettings) AskWait(asks int) time.Duration {
	first := 15 * time.Second
	if r.AskAgainSecs != nil {
		first = time.Duration(*r.AskAgainSecs) * time.Second
	}
	return first << (2 * (asks - 1))
}

// ReviewRequest asks one specialist about one commit.
type ReviewRequest struct {
	Run        string
	Phase      string
	PhaseName  string
	Specialist Specialist
	By         string // see ReviewSettings.By
	Model      string
	Base       string // commit that the change starts from
	Commit     string // the proven tree
	// Since is the commit that this specialist answered about before: only
	// files whose content differs there are reviewed. Empty = the whole change.
	Since string
	Ask   int // from 1; above 1 after an unknown answer
	// Summary says in plain words what the phase was to do; never the
	// author's own prose.
	Summary   string
	Mark      string // value of FORGE_LEASE in every process of the review
	Dir       string // folder for a reviewer that needs one; made and dropped by it
	LogPath   string
	Sandbox   SandboxSettings
	Agent     AgentSettings // of By agent:<name>
	Limits    Limits
	ReadPaths []string
	HidePaths []string
	// CostUSD and Tokens are the most that the review may consume; nil = no
	// limit.
	CostUSD *float64
	Tokens  *int64
	// Criteria are those of the issue that the run works on; empty = none.
	Criteria []Criterion
}

// ReviewReport is what came of it. That a reviewer gave no usable answer is a
// report with verdict unknown, never an error and never a pass.
type ReviewReport struct {
	Specialist string  `json:"specialist"`
	Verdict    Verdict `json:"verdict"`
	Why        string  `json:"why,omitempty"` // why unknown, or why not the reviewer's own word
	// Findings can be placed in the change; at most MaxBlocking of them are
	// major or critical, the rest are notes.
	Findings     []Finding `json:"findings,omitempty"`
	Notes        []Finding `json:"notes,omitempty"`
	Hallucinated int       `json:"hallucinated,omitempty"` // dropped: no such line in the change
	Files        []string  `json:"files,omitempty"`        // that were reviewed
	Unreviewed   []string  `json:"unreviewed,omitempty"`   // that were not, by name
	// Final says that asking again would leave the same files out: they are
	// binary or too large.
	Final      bool     `json:"final,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"` // the reviewer's own, of its least sure part; nil = unknown
	Model      string   `json:"model,omitempty"`
	Usage      Usage    `json:"usage"`
	Request    string   `json:"request,omitempty"` // blob: exactly what was asked
	Answer     string   `json:"answer,omitempty"`  // blob: exactly what came back
	// Criteria is what the reviewer says of the issue's criteria, each at most
	// once; Unread what of that could not be used, one line each.
	Criteria []CriterionAnswer `json:"criteria,omitempty"`
	Unread   []string          `json:"unread,omitempty"`
	// Sentences say what the change does, at most three; only where they were asked
	// for.
	Sentences []string `json:"sentences,omitempty"`
}

// MaxBlocking is how many blocking findings of one specialist reach a fix.
const MaxBlocking = 3

// ArbiterRequest asks the arbiter's model for its judgement.
type ArbiterRequest struct {
	Run       string
	Phase     string
	PhaseName string
	Model     string
	Base      string
	Commit    string
	Summary   string
	Findings  []Finding
	Attempts  int // fixes so far
	Most      int // fixes that are allowed
}

// ArbiterAnswer is the model's own judgement. The rules stand above it.
type ArbiterAnswer struct {
	Verdict      string   `json:"verdict,omitempty"` // Proceed, Fix, FailPhase; "" = no usable answer
	Confidence   *float64 `json:"confidence"`        // nil = unknown
	FixPath      *bool    `json:"fix_path"`          // nil = it did not say
	Reason       string   `json:"reason,omitempty"`
	Instructions string   `json:"instructions,omitempty"` // for the fix
	Why          string   `json:"why,omitempty"`          // why there is no usable answer
	Model        string   `json:"model,omitempty"`
	Usage        Usage    `json:"usage"`
	Request      string   `json:"request,omitempty"` // blob
	Answer       string   `json:"answer,omitempty"`  // blob
}
