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
		HoldLandingMoves:               "its target branch moved each time it was to land",
		HoldLandingRed:                 "your checks fail on the merged result",
	}
}
