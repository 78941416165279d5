package triage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// The choices of a checkpoint.
const (
	ChoiceConfirm  = "confirm"  // what is proposed holds
	ChoiceAccept   = "accept"   // go on with what there is
	ChoiceEdit     = "edit"     // the comment is what holds
	ChoiceRetry    = "retry"    // do it again
	ChoiceRedirect = "redirect" // infer this stage again, with the comment
	ChoiceAnswer   = "answer"   // to the question; this stage is inferred again
	ChoiceDismiss  = "dismiss"  // nobody wants the work
)

// KindStuck and KindCleanup are the kinds of checkpoints about what could not
// be done; those about what was inferred have their target's.
const (
	KindStuck   = "spawn"
	KindCleanup = "cleanup"
)

func choices(names ...string) []work.Choice {
	all := []work.Choice{
		{Name: ChoiceConfirm, Answer: work.CheckpointApproved, Label: "it is right: go on"},
		{Name: ChoiceAccept, Answer: work.CheckpointApproved, Label: "go on with what there is"},
		{Name: ChoiceRetry, Answer: work.CheckpointApproved, Label: "try again"},
		{Name: ChoiceEdit, Answer: work.CheckpointApproved, Label: "go on with your words instead"},
		{Name: ChoiceAnswer, Answer: work.CheckpointChangesRequested, Label: "your words answer it"},
		{Name: ChoiceRedirect, Answer: work.CheckpointChangesRequested, Label: "think again, with your words"},
		{Name: ChoiceDismiss, Answer: work.CheckpointRejected, Label: "do not do it"},
	}
	return slices.DeleteFunc(all, func(c work.Choice) bool { return !slices.Contains(names, c.Name) })
}

// open opens a checkpoint about points, of which the first is its kind.
func (d *decision) open(kind string, points []string, revision int, question, facts string, ways []work.Choice) {
	s := d.s
	if s.Hold != "" {
		facts = "Your last answer changed nothing: " + s.Hold + "\n\n" + facts
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + question + "\x00" + facts))
	d.add(work.CheckpointOpened, gates.Point(kind), work.Checkpoint{
		ID: fmt.Sprintf("%s.%d", s.Thread, s.Opened+1), Run: s.Thread, Phase: kind, Kind: kind, Points: points, Revision: max(revision, 1),
		Hash: hex.EncodeToString(sum[:]), Question: line(question, 300), Facts: text.Clip(facts, 5000), Choices: ways, Policy: s.version,
		Status: work.CheckpointPending, OpenedAt: d.now.UTC(), ExpiresAt: d.expiry(),
	})
}

// openStage asks a person about a stage: to confirm what is proposed, to answer
// a question, or to go on with the issue's own words.
func (d *decision) openStage(at int) {
	s, st, target := d.s, &d.s.Stages[at], gates.Targets()[at]
	issue := fmt.Sprintf("issue %d (%s)", s.Spec.Issue, line(s.Spec.Title, 120))
	var b strings.Builder
	fmt.Fprintf(&b, "Issue %d: %s\n", s.Spec.Issue, line(s.Spec.Title, 200))
	for i := range at {
		fmt.Fprintf(&b, "\nConfirmed %s:\n%s", gates.Targets()[i], s.Stages[i].Value.text(gates.Targets()[i]))
	}
	if st.Value == nil {
		points := []string{string(target)}
		for i := at + 1; i < len(s.Stages) && s.Stages[i].Judged == decideAsk && !s.Stages[i].Confirmed; i++ {
			points = append(points, string(gates.Targets()[i]))
		}
		fmt.Fprintf(&b, "\nWhy you are asked: %s\n", line(s.unasked(st), 1000))
		if s.Spec.Who == ByModel && st.Unusable > 0 {
			b.WriteString("Another model in [llm] may answer better; [factory] triage = \"off\" asks none.\n")
		}
		b.WriteString(notesText(st.Notes))
		if s.Spec.Description != "" {
			fmt.Fprintf(&b, "\nThe issue says:\n%s\n", text.Clip(s.Spec.Description, 2000))
		}
		ways := choices(ChoiceAccept, ChoiceEdit, ChoiceRedirect, ChoiceDismiss)
		if s.Spec.Who == ByModel {
			ways = choices(ChoiceAccept, ChoiceRetry, ChoiceEdit, ChoiceRedirect, ChoiceDismiss)
		}
		d.open(string(target), points, st.Revision+1, fmt.Sprintf("Go on with %s as it is written? Nobody worked out what it %s.", issue, unknownOf(points)), b.String(), ways)
		return
	}
	fmt.Fprintf(&b, "\nProposed %s:\n%s", target, st.Value.text(target))
	if len(st.Failed) > 0 {
		fmt.Fprintf(&b, "\nWhy you are asked: the policy does not let it pass on %s\n", strings.Join(st.Failed, ", "))
	}
	b.WriteString(notesText(st.Notes))
	if st.Judged == string(gates.Clarify) {
		ways := choices(ChoiceConfirm, ChoiceEdit, ChoiceAnswer, ChoiceDismiss)
		if st.Value.Summary == "" { // there is nothing to confirm
			ways = choices(ChoiceEdit, ChoiceAnswer, ChoiceDismiss)
		}
		d.open(string(target), []string{string(target)}, st.Revision+1, fmt.Sprintf("%s: %s", issue, st.Value.Question), b.String(), ways)
		return
	}
	d.open(string(target), []string{string(target)}, st.Revision+1, fmt.Sprintf("Is this the %s of %s?", target, issue), b.String(),
		choices(ChoiceConfirm, ChoiceEdit, ChoiceRedirect, ChoiceDismiss))
}

// unknownOf says in plain words what stages would have found out.
func unknownOf(points []string) string {
	plain := map[string]string{string(gates.PointIntent): "means", string(gates.PointContext): "touches", string(gates.PointAction): "needs"}
	var words []string
	for _, p := range points {
		words = append(words, plain[p])
	}
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return words[0]
}

// openStuck asks what to do about parts that could not be created.
func (d *decision) openStuck() {
	s := d.s
	facts := fmt.Sprintf("Issue %d is broken into %d parts; %d were created (%s).\n\nWhat went wrong: %s\n", s.Spec.Issue, len(s.Stages[2].Value.SubIssues),
		len(s.Children), orElse(numbers(s.Children), "none"), s.Stuck)
	// A plain yes tries again, as the question asks.
	ways := slices.Concat(choices(ChoiceRetry), choices(ChoiceAccept, ChoiceDismiss))
	if len(s.Children) == 0 {
		ways = choices(ChoiceRetry, ChoiceDismiss)
	}
	d.open(KindStuck, []string{string(gates.PointAction)}, 1, fmt.Sprintf("Part %d of issue %d could not be created: try again?", len(s.Children)+1, s.Spec.Issue), facts, ways)
}

// openCleanup asks what to do about what could not be cleaned up.
func (d *decision) openCleanup() {
	s := d.s
	facts := fmt.Sprintf("Issue %d: %s.\nIts parts %s are still on the board.\n\nWhat went wrong: %s\n", s.Spec.Issue, s.Dismissed, numbers(s.Children), s.Cleanup.Problem)
	ways := []work.Choice{
		{Name: ChoiceRetry, Answer: work.CheckpointApproved, Label: "try again"},
		{Name: ChoiceAccept, Answer: work.CheckpointRejected, Label: "leave it as it is"},
	}
	d.open(KindCleanup, []string{KindCleanup}, s.Cleanup.Tries, fmt.Sprintf("Cleaning up after issue %d failed: try again?", s.Spec.Issue), facts, ways)
}

func notesText(notes []Note) string {
	if len(notes) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nSaid before:\n")
	for _, n := range notes[max(len(notes)-5, 0):] {
		fmt.Fprintf(&b, "- %s: %s\n", n.By, line(n.Text, 300))
	}
	return b.String()
}

func numbers(ids []int64) string {
	var words []string
	for _, id := range ids {
		words = append(words, fmt.Sprintf("#%d", id))
	}
	return strings.Join(words, ", ")
}

// text is a value for a person, and as data for a prompt.
func (v *Value) text(target gates.Point) string {
	var b strings.Builder
	put := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, text)
		}
	}
	if v.Summary != "" {
		b.WriteString(v.Summary + "\n")
	}
	confidence := "unknown"
	if v.Confidence != nil {
		confidence = fmt.Sprint(*v.Confidence)
	}
	put("Confidence", confidence)
	put("Question", v.Question)
	items := func(name string, list []string) {
		for _, text := range list {
			fmt.Fprintf(&b, "- %s: %s\n", name, text)
		}
	}
	items("wants", v.Wants)
	items("touches", v.Touches)
	items("risk", v.Risks)
	if target == gates.PointAction {
		put("Action", strings.TrimSpace(v.Kind+" "+v.Name))
		items("step", v.Steps)
		amplifier := "unknown"
		if v.RiskAmplifier != nil {
			amplifier = fmt.Sprint(*v.RiskAmplifier)
		}
		put("Risk", fmt.Sprintf("irreversibility %s, regret %s, risk amplifier %s", orElse(string(v.Irreversibility), "unknown"), orElse(string(v.Regret), "unknown"), amplifier))
		for i, sub := range v.SubIssues {
			fmt.Fprintf(&b, "Part %d: %s", i+1, sub.Title)
			if sub.Level != "" {
				fmt.Fprintf(&b, " (level %s)", sub.Level)
			}
			if len(sub.Needs) > 0 {
				fmt.Fprintf(&b, " (needs %v)", sub.Needs)
			}
			b.WriteString("\n")
			if text := line(sub.Description, 200); text != "" {
				b.WriteString("  " + text + "\n")
			}
		}
	}
	return b.String()
}
