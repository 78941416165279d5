// Package gates decides, from a policy and facts alone, whether work goes on,
// changes its course, stops, or waits for a person.
package gates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"forge/internal/work"
)

// Point is a place where work may go on, stop, or wait for a person.
type Point string

// The points. Checkpoint types have one point each, made by
// CheckpointPoint; AnyCheckpoint stands for those that the policy does not name.
const (
	PointPlanInitial Point = "plan.initial"
	PointPlanLater   Point = "plan.later"
	PointTactical    Point = "tactical"
	PointFinal       Point = "final"
	PointPhaseStart  Point = "phase.start"
	PointIteration   Point = "iteration"
	PointStale       Point = "stale"
	PointSubPhase    Point = "subphase"
	PointDecompose   Point = "decompose"
	PointTries       Point = "tries"
	PointBlocker     Point = "blocker"
	PointIntent      Point = "intent"
	PointContext     Point = "context"
	PointAction      Point = "action"
	PointFindings    Point = "findings"
	PointEvidence    Point = "evidence"
	PointPromote     Point = "promote"
	AnyCheckpoint    Point = "ckpt.*"
)

const (
	checkpointPrefix = "ckpt."
	doubtPrefix      = string(PointEvidence) + "."
)

// The checkpoint types that Forge itself knows.
const (
	PointPhaseTransition = Point(checkpointPrefix + "phase_transition")
	PointDeliverable     = Point(checkpointPrefix + "deliverable")
	PointFinalOutput     = Point(checkpointPrefix + "final_output")
	// PointQuestion is where an agent asks something. Where it is auto, nobody
	// is asked, and the agent decides.
	PointQuestion = Point(checkpointPrefix + "question")
)

// CheckpointPoint is the point of a checkpoint type ("final_output").
func CheckpointPoint(kind string) Point { return Point(checkpointPrefix + kind) }

// DoubtPoint is the point of one kind of doubt about a proof. A policy need not
// name it: it takes the mode of PointEvidence then.
func DoubtPoint(kind work.DoubtKind) Point { return Point(doubtPrefix + string(kind)) }

// DoubtPoints are those of all kinds.
func DoubtPoints() []Point {
	var all []Point
	for _, kind := range work.DoubtKinds() {
		all = append(all, DoubtPoint(kind))
	}
	return all
}

// Points lists every point but those of single checkpoint types and of
// single kinds of doubt, in the order
// in which they are shown.
func Points() []Point {
	return []Point{
		PointPlanInitial, PointPlanLater, PointTactical, PointFinal, PointPhaseStart,
		PointIteration, PointStale, PointSubPhase, PointDecompose, PointTries, PointBlocker, AnyCheckpoint, PointIntent,
		PointContext, PointAction, PointFindings, PointEvidence, PointPromote,
	}
}

func (pt Point) isCheckpoint() bool {
	return len(pt) > len(checkpointPrefix) && strings.HasPrefix(string(pt), checkpointPrefix)
}

func (pt Point) isDoubt() bool {
	kind, ok := strings.CutPrefix(string(pt), doubtPrefix)
	switch work.DoubtKind(kind) {
	case work.DoubtWeakened, work.DoubtUnproven, work.DoubtTestAware, work.DoubtFlaky:
		return ok
	}
	return false
}

func (pt Point) known() bool {
	switch pt {
	case PointPlanInitial, PointPlanLater, PointTactical, PointFinal, PointPhaseStart,
		PointIteration, PointStale, PointSubPhase, PointDecompose, PointTries, PointBlocker, PointIntent, PointContext,
		PointAction, PointFindings, PointEvidence, PointPromote:
		return true
	}
	return pt.isCheckpoint() || pt.isDoubt()
}

// Mode says who decides at a point.
type Mode string

// Auto: Forge decides. Human: a checkpoint opens and waits.
const (
	Auto  Mode = "auto"
	Human Mode = "human"
)

// OnStale is the response to iterations without progress.
type OnStale string

// From free to conservative.
const (
	PivotThenFail OnStale = "pivot_then_fail"
	AskOnStale    OnStale = "ask"
)

// FailVerdict is the response to findings that nothing can resolve.
type FailVerdict string

// From free to conservative.
const (
	FailPhase FailVerdict = "fail_phase"
	AskOnFail FailVerdict = "ask"
)

// Promote is the response to an issue's finished run.
type Promote string

// From free to conservative.
const (
	PromoteOnClean Promote = "on_clean"
	AlwaysReview   Promote = "always_review"
)

// StartUnasked says which phases start without a question although the gate at
// phase.start is human. The zero value is the conservative one: none.
type StartUnasked string

// StartLowRisk: readonly phases, phases in permission mode autonomous, and
// those whose direct dependencies each changed a few files (see
// Interactive.MayStart). Of the presets, interactive alone has it.
const (
	StartNone    StartUnasked = ""
	StartLowRisk StartUnasked = "low_risk"
)

// Policy says what Forge may do by itself: a value of independent axes,
// compared and combined axis by axis. It does not change once made; the map
// and slices in it are shared by its copies. The zero value asks everywhere.
type Policy struct {
	// Preset is the name of the preset with these very axes, "" for a policy
	// of its own. It is for people: no decision reads it.
	Preset string `json:"preset" toml:"-"`
	// Gates holds the mode of each point. What it does not name is human,
	// save that a checkpoint type takes the mode of AnyCheckpoint, and a kind of
	// doubt that of PointEvidence.
	Gates map[Point]Mode `json:"gates" toml:"gates"`
	// StartUnasked refines a human gate at phase.start; it means nothing
	// where that gate is auto.
	StartUnasked StartUnasked `json:"start_unasked,omitempty" toml:"start_unasked"`
	// Looks and Limits stand beside the gates in JSON and TOML, by name. Limits
	// bound what a machine may confirm.
	Looks
	Limits
	// The points stale, findings and promote are human exactly where these
	// responses ask.
	OnStale     OnStale     `json:"on_stale" toml:"on_stale"`
	FailVerdict FailVerdict `json:"fail_verdict" toml:"fail_verdict"`
	Promote     Promote     `json:"promote" toml:"promote"`
}

// At is who decides at pt. A checkpoint type that the policy does not name
// takes the mode of AnyCheckpoint, a kind of doubt that of PointEvidence; whatever else is missing or unknown, point
// or mode, is Human.
func (p Policy) At(pt Point) Mode {
	if !pt.known() {
		return Human
	}
	m, ok := p.Gates[pt]
	if !ok && pt.isCheckpoint() {
		m = p.Gates[AnyCheckpoint]
	}
	if !ok && pt.isDoubt() {
		m = p.Gates[PointEvidence]
	}
	if m != Auto {
		return Human
	}
	return Auto
}

// StopsAt says whether a checkpoint of a type waits for a person. Unlike At it
// takes any text for a type, also one that no project could register. Types
// that are given in the place of the three that Forge itself knows all wait;
// the three then take the mode of AnyCheckpoint. nil changes nothing.
func (p Policy) StopsAt(kind string, instead []string) bool {
	pt := CheckpointPoint(kind)
	m, named := p.Gates[pt]
	if instead != nil {
		if slices.Contains(instead, kind) {
			return true
		}
		named = named && pt != PointPhaseTransition && pt != PointDeliverable && pt != PointFinalOutput
	}
	if !named {
		m = p.Gates[AnyCheckpoint]
	}
	return m != Auto
}

// StaleResponse is what happens when a phase makes no progress: the policy's
// response, or AskOnStale where the gate at the point stale is human or the
// response is not a known word.
func (p Policy) StaleResponse() OnStale {
	if p.At(PointStale) == Auto && p.OnStale == PivotThenFail {
		return PivotThenFail
	}
	return AskOnStale
}

// Version names the content of a policy, whatever its preset is called: 12
// hexadecimal digits, equal for equal axes.
func (p Policy) Version() string {
	p.Preset = "" // before Meet, which compares to tell whether it still holds
	n := Meet(p, p)
	// Meet leaves only finite numbers, so that this cannot fail; were it to,
	// the text of the error would still not be the version of any policy.
	text, err := json.Marshal(n)
	if err != nil {
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
