package triage

import (
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// Prefix begins the id of every thread: triage-<issue>-<attempt>.
const Prefix = "triage-"

// ThreadID is the name of an issue's thread, attempts counting from 1.
func ThreadID(issue int64, attempt int) string {
	return fmt.Sprintf("%s%d-%d", Prefix, issue, attempt)
}

// IsThread says that a run of the journal is a thread of triage.
func IsThread(run string) bool { return strings.HasPrefix(run, Prefix) }

// Who says by whom an issue is triaged.
type Who string

// ByModel asks a model or an agent; ByPerson asks nobody but a person, once;
// ByNobody is the owner's word that nothing is to be asked at all.
const (
	ByModel  Who = "model"
	ByPerson Who = "person"
	ByNobody Who = "off"
)

// Bounds of what an issue may be broken into.
const (
	MaxDepth     = 3 // an issue without a parent has depth 1
	MaxSubIssues = 10
)

// maxUnusable is how many answers in a row may be unusable before a person is
// asked instead.
const maxUnusable = 2

// Spec is what a thread is opened with: resolved once, recorded with the first
// event, and read from there ever after.
type Spec struct {
	Project     string           `json:"project"`
	Issue       int64            `json:"issue"`
	Attempt     int              `json:"attempt"`
	Parent      int64            `json:"parent,omitempty"`
	Depth       int              `json:"depth"` // from 1
	Title       string           `json:"title"`
	Description string           `json:"description,omitempty"` // as it counts: what others wrote into it is left out
	Criteria    []work.Criterion `json:"criteria,omitempty"`
	Labels      []string         `json:"labels,omitempty"`
	// Hidden counts what was taken out because nobody would see it.
	Hidden int `json:"hidden,omitempty"`

	Who Who `json:"who"`
	// Why says in words why nobody but a person is asked.
	Why string `json:"why,omitempty"`
	// Inferrer and Model name who answers, for the record; Tier is what the
	// policy is asked about.
	Inferrer string     `json:"inferrer,omitempty"`
	Model    string     `json:"model,omitempty"`
	Tier     gates.Tier `json:"tier,omitempty"`
	// CallUSD is set aside before each call, and stands where a call reports no
	// cost.
	CallUSD float64 `json:"call_usd"`
	// OutageWaitSecs is how long a service that limits or is away is waited
	// for; ExpirySecs how long a question may be answered, 0 = for ever.
	OutageWaitSecs int `json:"outage_wait_secs,omitempty"`
	ExpirySecs     int `json:"expiry_secs,omitempty"`

	// Policy binds every decision: the issue's own under those of all parents.
	Policy gates.Policy  `json:"policy"`
	Bound  *gates.Policy `json:"bound,omitempty"` // what no later choice may pass; nil = nothing
	// Risk is what the work above this issue has gathered.
	Risk gates.RiskProfile `json:"risk,omitzero"`
}

// SameText says that two specs are about an issue that says the same.
func SameText(a, b Spec) bool {
	a, b = a.clean(), b.clean()
	return a.Title == b.Title && a.Description == b.Description && slices.Equal(a.Criteria, b.Criteria) && slices.Equal(a.Labels, b.Labels)
}

// clean takes out of texts what a person would not see, so that what is judged
// is what is read.
func (s Spec) clean() Spec {
	for _, words := range []*string{&s.Title, &s.Description} {
		seen, hidden := text.Reveal(*words)
		*words = seen
		s.Hidden += hidden
	}
	criteria := make([]work.Criterion, len(s.Criteria))
	for i, c := range s.Criteria {
		seen, hidden := text.Reveal(c.Text)
		criteria[i] = work.Criterion{ID: c.ID, Text: seen}
		s.Hidden += hidden
	}
	if s.Criteria = criteria; len(criteria) == 0 {
		s.Criteria = nil
	}
	return s
}
