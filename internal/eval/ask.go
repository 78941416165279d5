package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// Outcome is what was said about one case, before it is held against what is
// right: findings and rulings are kept, so that they can be judged again.
type Outcome struct {
	Case       string       `json:"case"`
	Hash       string       `json:"hash"`
	Specialist string       `json:"specialist"`
	Language   string       `json:"language,omitempty"`
	Clean      bool         `json:"clean,omitempty"`
	Model      string       `json:"model,omitempty"`
	Verdict    work.Verdict `json:"verdict,omitempty"` // of a reviewer
	Why        string       `json:"why,omitempty"`     // why unknown
	// Findings are all that can be placed in the change, notes with them.
	Findings     []work.Finding `json:"findings,omitempty"`
	Hallucinated int            `json:"hallucinated,omitempty"`
	Expected     []Checked      `json:"expected,omitempty"`
	Kinds        []Kind         `json:"kinds,omitempty"` // of the findings, in their order
	Same         []Same         `json:"same,omitempty"`
	Ruling       *RulingOutcome `json:"ruling,omitempty"` // of the arbiter
	Usage        work.Usage     `json:"usage"`            // of the answers, without the judge of descriptions
	// Millis is how long the answers took, all questions of the case together; nil =
	// nobody was asked, or it was not measured.
	Millis *int64 `json:"millis,omitempty"`
}

// Checked is what came of one expectation.
type Checked struct {
	ID       string        `json:"id"`
	Must     Must          `json:"must"`
	Severity work.Severity `json:"severity"`
	Status   Status        `json:"status"`
}

// RulingOutcome is what the arbiter said of one case, three ways.
type RulingOutcome struct {
	Right review.Ruling `json:"right"`
	Rules review.Ruling `json:"rules"`           // the rules alone
	Said  review.Ruling `json:"said,omitempty"`  // the model alone, "" = no usable answer
	Both  review.Ruling `json:"both,omitempty"`  // the rules, told by the model; "" = it was not asked
	Why   string        `json:"why,omitempty"`   // why there is no answer
	Asked bool          `json:"asked,omitempty"` // a model was
}

// Limits bound what one case may consume, see review.Input.
type Limits struct {
	PartTokens int
	CostUSD    *float64
	Tokens     *int64
}

// AskReviewer asks a specialist about a case.
func AskReviewer(ctx context.Context, m review.Model, c Case, s work.Specialist, most Limits) Outcome {
	r := review.Review(ctx, m, review.Input{
		Specialist: s, PhaseName: phaseName, Summary: c.Context, Change: c.Change, PartTokens: most.PartTokens, CostUSD: most.CostUSD, Tokens: most.Tokens,
		Content: func(_ context.Context, path string) ([]byte, error) {
			if text, ok := c.Content[path]; ok {
				return text, nil
			}
			return nil, fs.ErrNotExist
		},
	})
	o := c.outcome()
	o.Model, o.Verdict, o.Usage = r.Model, r.Verdict, r.Usage
	o.Findings, o.Hallucinated = slices.Concat(r.Findings, r.Notes), r.Hallucinated
	if r.Verdict == work.VerdictUnknown || !r.Verdict.Known() {
		o.Verdict, o.Why = work.VerdictUnknown, r.Why
	}
	return o
}

// phaseName stands where a run says which phase it is; a case's own name would
// tell what is wrong.
const phaseName = "change"

func (c Case) outcome() Outcome {
	return Outcome{Case: c.Name, Hash: c.Hash, Specialist: c.Specialist, Language: c.Language, Clean: c.Clean()}
}

// AskArbiter rules on a case: by the rules, and where m is not nil by the model
// and by both as in a run, where the rules decide and the model tells them how
// sure it is that findings may stand, and whether there is a way to fix. Where a reviewer is unknown no
// run asks the model.
func AskArbiter(ctx context.Context, m review.Model, c Case) Outcome {
	o, k := c.outcome(), c.Ruling
	o.Usage = nothing()
	facts := review.Case{Unknown: k.Unknown, Threshold: k.Threshold, FixPath: true, Attempts: k.Attempts, Most: k.MaxFixes}
	for _, f := range k.Findings {
		facts.Severities = append(facts.Severities, f.Severity)
	}
	o.Ruling = &RulingOutcome{Right: k.Right}
	o.Ruling.Rules, _ = review.Rule(facts)
	if m == nil {
		return o
	}
	if k.Unknown || len(k.Findings) == 0 {
		o.Ruling.Both = o.Ruling.Rules
		return o
	}
	a := review.Judge(ctx, m, review.JudgeInput{Change: c.Change, Request: work.ArbiterRequest{
		PhaseName: phaseName, Summary: c.Context, Findings: k.Findings, Attempts: k.Attempts, Most: k.MaxFixes,
	}})
	o.Model, o.Usage = a.Model, a.Usage
	o.Ruling.Asked, o.Ruling.Said, o.Ruling.Why = true, review.Ruling(a.Verdict), a.Why
	o.Ruling.Both, _ = review.Rule(facts.Hear(a))
	return o
}

// Score holds an outcome against what is right. same is as in MatchAll.
func (o *Outcome) Score(c Case, same func(e Expectation, f work.Finding) *bool) {
	if o.Ruling != nil {
		return
	}
	m := MatchAll(c.Expected, o.Findings, same)
	o.Kinds, o.Expected = m.Findings, nil
	for i, e := range c.Expected {
		k := Checked{ID: e.ID, Must: e.Must, Severity: e.Severity, Status: m.Expected[i]}
		if o.Verdict == work.VerdictUnknown {
			k.Status = Unknown
		}
		o.Expected = append(o.Expected, k)
	}
}

// Repeated is how many findings say again what another one says.
func (o Outcome) Repeated() int {
	n := work.MergedFindings(o.Findings)
	for _, k := range o.Kinds {
		if k == Duplicate {
			n++
		}
	}
	return n
}

// PromptHash tells prompts apart: the first 16 hex digits of the SHA-256 of
// what a specialist or, named Arbiter, the arbiter works by.
func PromptHash(s work.Specialist) string {
	text := review.Prompt(s)
	if s.Name == Arbiter {
		var seen promptReader
		review.Judge(context.Background(), &seen, review.JudgeInput{})
		text = seen.system
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:16]
}

// promptReader answers nothing and keeps what it was asked.
type promptReader struct {
	system string
	bytes  int
}

var errNotAsked = errors.New("nobody is asked")

func (p *promptReader) Ask(_ context.Context, q review.Question) (review.Reply, error) {
	p.system = q.System
	p.bytes += len(q.System) + len(q.User) + len(q.Schema)
	return review.Reply{Usage: nothing()}, errNotAsked
}

// answerTokens is what an answer is taken to have in an estimate.
const answerTokens = 1000

// Estimate is about how many tokens asking about the cases takes, in and out,
// when each takes one question.
func Estimate(ctx context.Context, cases []Case, of func(name string) work.Specialist) (questions int, in, out int64) {
	for _, c := range cases {
		var p promptReader
		if c.Ruling != nil {
			AskArbiter(ctx, &p, c)
		} else {
			AskReviewer(ctx, &p, c, of(c.Specialist), Limits{})
		}
		if p.bytes > 0 {
			questions++
			in, out = in+int64(review.Tokens(p.bytes)), out+answerTokens
		}
	}
	return questions, in, out
}

// Spent adds usage up: what is unknown of one is unknown of both.
func Spent(a, b work.Usage) work.Usage {
	return work.Usage{
		InputTokens: sum(a.InputTokens, b.InputTokens), OutputTokens: sum(a.OutputTokens, b.OutputTokens), CostUSD: sum(a.CostUSD, b.CostUSD),
	}.Clean()
}

func sum[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	s := *a + *b
	return &s
}

// Nothing is the usage before anybody was asked.
func Nothing() work.Usage { return nothing() }

// String names an outcome in a line.
func (o Outcome) String() string {
	if o.Ruling != nil {
		said := o.Ruling.Rules
		if o.Ruling.Both != "" {
			said = o.Ruling.Both
		}
		return fmt.Sprintf("%s: %s, right is %s", o.Case, said, o.Ruling.Right)
	}
	found, must := 0, 0
	for _, k := range o.Expected {
		if k.Must == Find {
			must++
			if k.Status == Found {
				found++
			}
		}
	}
	if o.Verdict == work.VerdictUnknown {
		return fmt.Sprintf("%s: unknown (%s)", o.Case, o.Why)
	}
	return fmt.Sprintf("%s: %s, %d of %d found, %s", o.Case, o.Verdict, found, must, text.Number(len(o.Findings), "finding"))
}
