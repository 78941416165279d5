package work

import "fmt"

// ProofSettings is [proof]: what counts as product and what as evidence, and
// how much a green proof is asked again.
type ProofSettings struct {
	Product  []string `json:"product,omitempty"`  // globs: the owner's word that these are product
	Evidence []string `json:"evidence,omitempty"` // globs: the owner's word that these are evidence
	// Unproven is what follows from changed product that no test needs: hold
	// or say. "" = hold.
	Unproven string `json:"unproven,omitempty"`
	// NoControls leaves out the questions to test runners: which tests ran,
	// whether the judge can still say no, what the change is needed for.
	NoControls bool `json:"no_controls,omitempty"`
	// ControlSecs bounds them; 0 = as long as the verify took.
	ControlSecs int `json:"control_secs,omitempty"`
	// Ablate is off, report or require; AblateSecs bounds it, 0 = as long as
	// the verify took.
	Ablate     string `json:"ablate,omitempty"`
	AblateSecs int    `json:"ablate_secs,omitempty"`
	// RestSecs bounds what is tried at the end of the run since there was no time
	// for it at the claim, for each phase; 0 = four times as long as its verify
	// took.
	RestSecs int      `json:"rest_secs,omitempty"`
	Also     []string `json:"also,omitempty"` // commands of a second profile, run after the verify commands
	// Hidden are folders out of the checkout with checks that no agent sees.
	Hidden []string `json:"hidden,omitempty"`
	// Pages are shown in a browser for every proof of work.
	Pages []PageSettings `json:"pages,omitempty"`
}

// Words of proof.unproven and proof.ablate.
const (
	UnprovenHold  = "hold"
	UnprovenSay   = "say"
	AblateOff     = "off"
	AblateReport  = "report"
	AblateRequire = "require"
)

// DoubtKind says why a green proof is worth less than it looks.
type DoubtKind string

// The kinds of doubt. None of them stops work inside a run; each holds the
// result, unless the owner's policy lets it pass.
const (
	DoubtWeakened  DoubtKind = "evidence_weakened" // evidence proves less than before, though both proofs are green
	DoubtUnproven  DoubtKind = "unproven"          // a change that no test notices the loss of
	DoubtTestAware DoubtKind = "test_aware"        // product that asks whether it is under test
	DoubtFlaky     DoubtKind = "flaky"             // the same tree was once red and once green
)

// DoubtDisturbed is the one kind that no policy lets pass: a control of the end of
// the run found tests that cannot fail any more.
const DoubtDisturbed DoubtKind = "proof_disturbed"

// DoubtKinds are the kinds that a policy may let pass, in the order in which they
// are shown.
func DoubtKinds() []DoubtKind {
	return []DoubtKind{DoubtWeakened, DoubtUnproven, DoubtTestAware, DoubtFlaky}
}

// Doubt is one reason to hold a result whose proof is green.
type Doubt struct {
	Kind DoubtKind `json:"kind"`
	Path string    `json:"path,omitempty"`
	Line int       `json:"line,omitempty"` // in the new content; 0 = the whole file, or what was there is gone
	What string    `json:"what"`           // one line for people
	// Floor is what the change is weaker than: trusted or protected (the
	// phase's own base); "" where that is not the question.
	Floor VerifyOn `json:"floor,omitempty"`
}

// TrustMove is evidence that somebody who may accepted: of the paths that
// differ between From and To and match a glob, the content in To is trusted.
type TrustMove struct {
	From  string   `json:"from"`
	To    string   `json:"to"`
	Paths []string `json:"paths"` // globs; "**" is every path
	// Repository is the one that the commits are of; "" = the home.
	Repository string `json:"repository,omitempty"`
}

// EvidenceRequest asks what a change does to the evidence that its proof
// rests on.
type EvidenceRequest struct {
	Trusted string      // the trusted state, a commit
	Moves   []TrustMove // that happened in this run, in order
	Base    string      // where the phase began
	Commit  string      // what is to be proven
	// Parts are what of the phase's own work was proven before: what it came
	// with may not be weaker in what follows.
	Parts []ProvenPart `json:",omitempty"`
	// Protected are the globs of verify.protected; MayChange those of the
	// phase: evidence that it may change, though never weaken.
	Protected []string
	MayChange []string
	Commands  []string // that prove it, and make its folder ready
	Proof     ProofSettings
}

// ProvenPart is work of a phase that was proven while the phase went on: what a
// sub-phase did, or what a resolution of conflicts began with.
type ProvenPart struct {
	Base   string // where it began, a commit
	Commit string
}

// EvidenceReport is what a change does to evidence.
type EvidenceReport struct {
	// Touched is evidence that differs from the phase's base, Trusted evidence
	// that differs from the trusted state; what may_change allows is in
	// neither, and of Touched in Allowed.
	Touched []string
	Trusted []string
	Allowed []string `json:"Excused"`
	// New is evidence that only grew: a proof with other evidence leaves it out.
	New []string
	// Parts is evidence that parts of the work were proven with, and that is
	// another now.
	Parts []string
	// Floors are the proofs that are due beside that of the commit itself:
	// trusted, protected. One whose tree is the commit's own is not due.
	Floors  []VerifyOn
	Doubts  []Doubt
	Notes   []string // evidence that only grew, dependencies that are new
	Product []string // changed product paths, against the phase's base
	// Settings are the changed paths, of either, that decide how tests are run
	// and are no tests, also where may_change allows them to differ.
	Settings []string
	// Changed is evidence of either that is there, as another than it was, also
	// where may_change allows it.
	Changed []string
}

// String is the doubt as a line for people.
func (d Doubt) String() string {
	at := d.Path
	if d.Path != "" && d.Line > 0 {
		at = fmt.Sprintf("%s:%d", d.Path, d.Line)
	}
	if at != "" {
		at = " " + at
	}
	return fmt.Sprintf("%s%s: %s", d.Kind, at, d.What)
}
