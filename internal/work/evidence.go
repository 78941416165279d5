package work

import "time"

// IssueBrief is what a run knows of the issue that it works on. It is recorded
// with run.started and read from there ever after: what becomes of the issue
// meanwhile changes nothing about a run that is under way. The issue's
// description is the run's specification, see Settings.Spec.
type IssueBrief struct {
	Project  string      `json:"project"` // see BoardProject.ID
	ID       int64       `json:"id"`
	Version  int64       `json:"version,omitempty"` // of the issue, that this was read from
	Title    string      `json:"title"`
	Criteria []Criterion `json:"criteria,omitempty"`
	// External says that somebody wrote it elsewhere: a change of protected
	// files, even a proven one, is shown to a person before it lands.
	External bool `json:"stranger,omitempty"`
	// LookAfter says that triage wants a person to look at what was done, after
	// it was (requires_post_review). It holds nothing.
	LookAfter bool `json:"look_after,omitempty"`
	// ByLabel is what its labels said of how it is worked on, a line for each.
	ByLabel []string `json:"by_label,omitempty"`
	// Heard is what people said on the pull request of an earlier result that
	// this run goes on from.
	Heard []string `json:"heard,omitempty"`
	// Threads are those of Heard that the agent owes an answer to.
	Threads []string `json:"threads,omitempty"`
	// Pushed is what people put on top of that result: the run begins with it.
	Pushed *Pushed `json:"pushed,omitempty"`
	// Conflict is the earlier result where it does not go together with what the run
	// begins at: the first phase mends that.
	Conflict *Conflict `json:"clash,omitempty"`
	// Workspace is the folder in which the agent works, where a WORKFLOW.md says so.
	Workspace string `json:"workspace,omitempty"`
}

// Conflict is an earlier result of an issue that does not go together with what came
// to be meanwhile: they conflict, or are red together.
type Conflict struct {
	Result string   `json:"result"` // its commit
	Commit string   `json:"commit"` // grew out of the run's base and of Result; holds both sides
	Tree   string   `json:"tree"`   // of Commit
	Files  []string `json:"files"`  // in conflict: they hold markers
	With   string   `json:"with"`   // what came to be, for people and agents
}

// Pushed are commits of people on the pull request of an issue's result.
type Pushed struct {
	Commit string   `json:"commit"` // grew out of the run's base
	Tree   string   `json:"tree"`
	Files  []string `json:"files"` // that they change
	// Approved is who approved it as it is, "" = nobody.
	Approved string `json:"approved,omitempty"`
}

// PromoteSettings is [autonomy.auto_promote]. The zero value lets nothing go to
// done by itself.
type PromoteSettings struct {
	Enabled bool `json:"enabled"`
	OnClean bool `json:"promote_on_clean"`
}

// EvidenceBy is who speaks for a criterion.
type EvidenceBy string

const (
	EvidenceVerify   EvidenceBy = "verify"   // a verify command that the criterion names
	EvidenceReviewer EvidenceBy = "reviewer" // what a specialist saw
	EvidencePerson   EvidenceBy = "person"   // who approved the result
)

// Evidence is what speaks for one criterion of an issue, or against it. It
// holds for one content: that of Commit.
type Evidence struct {
	Criterion string     `json:"criterion"` // its id
	By        EvidenceBy `json:"by"`
	Who       string     `json:"who,omitempty"` // the reviewer, or the person
	Met       bool       `json:"met"`           // false = it speaks against
	What      string     `json:"what"`          // the command, the reviewer's or the person's words
	Phase     string     `json:"phase,omitempty"`
	Commit    string     `json:"commit"`      // the result that it is about
	At        time.Time  `json:"at,omitzero"` // when it was recorded
}

// CriterionAnswer is what a reviewer says of one criterion.
type CriterionAnswer struct {
	ID       string `json:"id"`
	Met      bool   `json:"met"`
	Evidence string `json:"evidence"` // where the change shows it; never empty
}
