package pullrequest

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/host"
	"forge/internal/work"
)

// PassOn lets an answer to cp carry what people said on the pull request and
// nobody heard yet; what does not fit is passed on with the next one.
func PassOn(a *work.Answer, cp work.Checkpoint, heard []string, look work.PullLook) {
	const ofForge = 500 // bytes, for the words around it
	said := UnheardIn(look, heard, min(MostOfRound, work.MaxFeedback-len(cp.Feedback(""))-ofForge))
	a.Heard = said.Reviews
	if a.Checks != "" {
		defer func() {
			if mark := work.ChecksMark(a.Checks); !slices.Contains(a.Heard, mark) {
				a.Heard = append([]string{mark}, a.Heard...) // counted even where its words did not fit
			}
		}()
	}
	if a.Status == work.CheckpointChangesRequested {
		a.Heard, a.Threads = said.Heard, said.Threads
		a.Comment = strings.TrimSpace(a.Comment + "\n\n" + said.Said)
	}
}

// Standing is how a pull request stands, as far as it matters to a result that
// waits: two that are the same text ask for nothing new. Of one that is over,
// which only has to be merged, more matters.
func Standing(look work.PullLook, over bool) string {
	mark := fmt.Sprint(look.State, look.Head, look.BranchGone)
	if !over {
		return mark
	}
	stand := host.Stand(look.Reviews, look.Head)
	for _, r := range stand.Counting {
		mark += " " + r.ID
	}
	return mark + fmt.Sprint(look.Base, look.BaseHead, look.Mergeable, look.Checks, look.Why, stand.Verdict)
}
