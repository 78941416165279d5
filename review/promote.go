package review

// Promotion is what becomes of an issue whose run has ended.
type Promotion string

const (
	ToDone     Promotion = "Done"
	ToInReview Promotion = "InReview" // a person looks at it
	NotMoved   Promotion = "Failed"   // it stays where it is and shows why
)

// HoldReason says why an issue waits for a person instead of being done.
type HoldReason string

// The reasons, in the order in which they are listed.
const (
	HoldAutonomy    HoldReason = "autonomy_disabled"
	HoldAutoPromote HoldReason = "auto_promote_disabled"
	HoldOnClean     HoldReason = "promote_on_clean_disabled"
	HoldWarnings    HoldReason = "review_warnings"
	HoldProceeded   HoldReason = "arbiter_proceeded"
	HoldFixed       HoldReason = "fix_attempts"
	HoldUnverified  HoldReason = "unverified"
	HoldAssumption  HoldReason = "assumption"
)

// The words of a RunResult.
const (
	RunCompleted = "completed"
	runFailed    = "failed"
	runCancelled = "cancelled"

	ReviewsNone     = "none"
	ReviewsPassed   = "passed"
	ReviewsWarnings = "warnings"
)

// RunResult is what a promotion is decided on. The zero value moves nothing.
type RunResult struct {
	Pipeline string `json:"pipeline"` // completed, failed, cancelled
	Reviews  string `json:"reviews"`  // of all phases: none, passed, warnings
	// Proceeded says that the arbiter let findings stand somewhere.
	Proceeded bool `json:"arbiter_proceeds"`
	Fixes     int  `json:"fix_attempts"`         // fixes anywhere, successful ones too
	Autonomy  bool `json:"autonomy_enabled"`     // the policy's promote is on_clean
	Auto      bool `json:"auto_promote_enabled"` // autonomy.auto_promote.enabled
	OnClean   bool `json:"promote_on_clean"`     // autonomy.auto_promote.promote_on_clean
	// Unverified says that a phase has no proof, changed its evidence with
	// leave, or left a criterion without any.
	Unverified bool `json:"unverified"`
	// Assumed says that something was decided without knowing: an agent wrote
	// down an assumption, or asked what nobody answered.
	Assumed bool `json:"assumption,omitempty"`
}

// Promote decides. Only a completed run without any reason to hold is Done; a
// word that is not known holds, or moves nothing.
func Promote(r RunResult) (Promotion, []HoldReason) {
	if r.Pipeline != RunCompleted {
		return NotMoved, nil
	}
	var hold []HoldReason
	for _, h := range []struct {
		reason HoldReason
		holds  bool
	}{
		{HoldAutonomy, !r.Autonomy},
		{HoldAutoPromote, !r.Auto},
		{HoldOnClean, !r.OnClean},
		{HoldWarnings, r.Reviews != ReviewsPassed && r.Reviews != ReviewsNone},
		{HoldProceeded, r.Proceeded},
		{HoldFixed, r.Fixes != 0},
		{HoldUnverified, r.Unverified},
		{HoldAssumption, r.Assumed},
	} {
		if h.holds {
			hold = append(hold, h.reason)
		}
	}
	if len(hold) > 0 {
		return ToInReview, hold
	}
	return ToDone, nil
}
