package factory

import (
	"strings"

	"forge/review"
)

// HeldWords is why a result waits, for who never read of the word on its card.
func HeldWords(reason string) string {
	if words, ok := heldWords()[reason]; ok {
		return words
	}
	return strings.ReplaceAll(reason, "_", " ")
}

// HeldList are reasons in one text, as the field "hold" of an issue's history has
// them, in words.
func HeldList(reasons string) string {
	if reasons == "" {
		return ""
	}
	var said []string
	for _, one := range strings.FieldsFunc(reasons, func(r rune) bool { return r == ',' || r == ' ' }) {
		said = append(said, HeldWords(one))
	}
	return strings.Join(said, "; ")
}

// PlainFacts are the facts of a question with the reasons for which a result is
// held in words.
func PlainFacts(facts string) string {
	const held = "held by: "
	lines := strings.Split(facts, "\n")
	for n, line := range lines {
		if reasons, ok := strings.CutPrefix(line, held); ok {
			lines[n] = "why you are asked: " + HeldList(reasons)
		}
	}
	return strings.Join(lines, "\n")
}

func heldWords() map[string]string {
	return map[string]string{
		string(review.HoldAutonomy):    "your level asks you before a result is merged",
		string(review.HoldAutoPromote): "your settings ask you before a result is merged (factory.auto_promote)",
		string(review.HoldOnClean):     "your settings ask you even where every check passed",
		string(review.HoldWarnings):    "a reviewer has a warning",
		string(review.HoldProceeded):   "findings were let pass by the arbiter",
		string(review.HoldFixed):       "it had to be mended after a review",
		string(review.HoldUnverified):  "a criterion has no evidence",
		string(review.HoldAssumption):  "the agent assumed something that nobody answered",
		HoldRejected:                   "a person said no to it",
		HoldOrigin:                     "the tracker that it comes from cannot be asked whether it is still wanted",
		HoldUnwanted:                   "it is not wanted any more where it comes from",
		HoldHost:                       "the code host cannot be reached",
		HoldPullClosed:                 "its pull request was closed",
		HoldPullBranch:                 "the branch of its pull request is gone",
		HoldPullPushed:                 "somebody pushed to its branch",
		HoldPullChanges:                "changes are requested on its pull request",
		HoldPullChecks:                 "checks on its pull request fail",
		HoldPullBlocked:                "the code host does not let it be merged",
		HoldLandingConflict:            "it conflicts with its target branch",
		HoldTargetOut:                  "its target branch is checked out, and something of yours is in the way",
		HoldTogether:                   "its result could not be moved in each of its repositories",
		HoldLandingMoves:               "its target branch moved each time it was to land",
		HoldShort:                      "this machine ran out of something, a full disk say",
		HoldLandingRed:                 "your checks fail on the merged result",
	}
}
