package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	texts "forge/internal/text"
	"forge/internal/work"
)

// TrialVersion is the version of a stored trial.
const TrialVersion = 1

// Who was asked.
const (
	AskedRecord = "recorded" // nobody: answers that are on record
	AskedLLM    = "llm"      // the service of [llm]
	AskedAgent  = "agent"    // an agent, as a reviewer of a run; the arbiter is the rules
)

// Who says whether a finding and an expectation mean the same.
const (
	JudgePlace  = "place" // nobody: place and severity alone
	JudgeRecord = "recorded"
	JudgeHand   = "hand"
	JudgeModel  = "model"
)

// Trial is one round over the cases, as it is stored.
type Trial struct {
	V       int        `json:"v"`
	ID      string     `json:"id"`
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended"`           // nil = not every case was asked
	Asked   string     `json:"asked"`           // AskedRecord, AskedLLM or AskedAgent
	Model   string     `json:"model,omitempty"` // of the reviewers, as it was asked for
	Arbiter string     `json:"arbiter,omitempty"`
	Judge   string     `json:"judge"`
	// JudgeModel is the model that compares descriptions, HandFile the file in
	// which a person does.
	JudgeModel string            `json:"judge_model,omitempty"`
	HandFile   string            `json:"hand_file,omitempty"`
	Prompts    map[string]string `json:"prompts"` // specialist → PromptHash
	Setup      Setup             `json:"setup"`
	Outcomes   []Outcome         `json:"outcomes"`
	// Usage is everything that was consumed, also by what was broken off.
	Usage      work.Usage `json:"usage"`
	JudgeUsage work.Usage `json:"judge_usage"`
	Ledger     Ledger     `json:"ledger"`
}

// Ledger is what counts against a limit: what is known, and how often it is
// not.
type Ledger struct {
	USD           float64 `json:"usd"`
	Tokens        int64   `json:"tokens"`
	UnknownUSD    int     `json:"unknown_usd"`
	UnknownTokens int     `json:"unknown_tokens"`
}

// Add counts one consumption.
func (l *Ledger) Add(u work.Usage) {
	u = u.Clean()
	if u.CostUSD != nil {
		l.USD += *u.CostUSD
	} else {
		l.UnknownUSD++
	}
	if n, ok := u.Tokens(); ok {
		l.Tokens += n
	} else {
		l.UnknownTokens++
	}
}

// Setup is what a trial is taken up again with.
type Setup struct {
	Cases       []string `json:"cases,omitempty"` // folders, absolute
	Builtin     bool     `json:"builtin"`
	Specialists []string `json:"specialists,omitempty"`
	Answers     string   `json:"answers,omitempty"` // folder of recorded answers
	Record      string   `json:"record,omitempty"`
	Prompts     string   `json:"prompts,omitempty"`
	// Reviewer is the agent that is asked, agent:NAME, and Model what it asks; "" = the
	// service of [llm], and the agent's own.
	Reviewer string `json:"reviewer,omitempty"`
	Model    string `json:"model,omitempty"`
}

// ReadTrial reads a stored trial. One of another version, or of which a word is
// not known, is an error: its numbers would be guesses.
func ReadTrial(text []byte) (*Trial, error) {
	var t Trial
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("read the trial: %w", err)
	}
	switch {
	case t.V != TrialVersion:
		return nil, fmt.Errorf("read the trial: it has version %d, this program knows %d", t.V, TrialVersion)
	case t.ID == "" || !slices.Contains([]string{AskedRecord, AskedLLM, AskedAgent}, t.Asked) ||
		!slices.Contains([]string{JudgePlace, JudgeRecord, JudgeHand, JudgeModel}, t.Judge):
		return nil, fmt.Errorf("read the trial: %q, asked %q, judged %q is not understood", texts.Clip(t.ID, 60), texts.Clip(t.Asked, 60), texts.Clip(t.Judge, 60))
	}
	for _, o := range t.Outcomes {
		if o.Ruling == nil && !o.Verdict.Known() {
			return nil, fmt.Errorf("read the trial: %s has the verdict %q", texts.Clip(o.Case, 100), texts.Clip(string(o.Verdict), 60))
		}
	}
	return &t, nil
}

// Spent is what all of the trial consumed.
func (t *Trial) Spent() work.Usage { return Spent(t.Usage, t.JudgeUsage) }

// Find is the outcome of a case; nil = it was not asked yet.
func (t *Trial) Find(name string) *Outcome {
	for i := range t.Outcomes {
		if t.Outcomes[i].Case == name {
			return &t.Outcomes[i]
		}
	}
	return nil
}

// Changed says why a trial cannot go on with these cases: what was asked must
// still be there in the same words. "" = it can.
func (t *Trial) Changed(cases []Case) string {
	var changed []string
	for _, o := range t.Outcomes {
		i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == o.Case })
		if i < 0 || cases[i].Hash != o.Hash {
			changed = append(changed, o.Case)
		}
	}
	return strings.Join(changed, ", ")
}

// Score holds every outcome against its case. hand is what a person said,
// looked at when the trial is judged by hand.
func (t *Trial) Score(cases []Case, hand []Same) {
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		for _, c := range cases {
			if c.Name != o.Case {
				continue
			}
			switch t.Judge {
			case JudgePlace:
				o.Score(c, nil)
			case JudgeHand:
				o.Score(c, Said(c.Name, hand))
			default:
				o.Score(c, Said(c.Name, o.Same))
			}
		}
	}
}

// HandPair is a pair as a person is shown it.
type HandPair struct {
	Same
	Expected string `json:"expected,omitempty"` // what is known to be wrong, or right
	Failure  string `json:"failure,omitempty"`
}

// HandPairs are all pairs of a trial that a person may be asked about, with
// what was said already; what was said about others stays behind them.
func HandPairs(t *Trial, cases []Case, said []Same) []HandPair {
	before := map[Same]*bool{}
	for _, s := range said {
		before[s.key()] = s.Same
	}
	out := []HandPair{}
	shown := map[Same]bool{}
	for _, c := range cases {
		o := t.Find(c.Name)
		if o == nil || o.Ruling != nil {
			continue
		}
		for _, pair := range NearPairs(c, o.Findings) {
			if shown[pair] {
				continue
			}
			shown[pair] = true
			h := HandPair{Same: pair}
			h.Same.Same = before[pair]
			for _, e := range c.Expected {
				if e.ID == pair.Expectation {
					h.Expected = e.Description
				}
			}
			for _, f := range o.Findings {
				if f.File == pair.File && f.Line == pair.Line && f.Issue == pair.Issue {
					h.Failure = f.Failure
				}
			}
			out = append(out, h)
		}
	}
	for _, s := range said {
		if !shown[s.key()] {
			shown[s.key()] = true
			out = append(out, HandPair{Same: s})
		}
	}
	return out
}
