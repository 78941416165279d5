package orchestrator

import (
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// pagesDone holds a green proof against the pages of its repository.
func (d *decision) pagesDone(repository string, rep *work.PagesReport, data *work.VerifyFinishedData) {
	if !data.OK || data.Rides != "" {
		return
	}
	shown, red := rep.Held(d.s.settingsOf(repository).Proof.Pages)
	data.Pages = shown
	if len(red) == 0 {
		return
	}
	data.OK, data.Problem = false, text.ClipJSON(red[0], 500)
	data.Command, data.ExitCode, data.TimedOut = "", nil, false
	data.Output = text.ClipMiddle(strings.Join(red, "\n"), maxOutput)
}

// roomFor is what was said of a verify with what an event has room for: what tells
// people more than the decision needs goes first.
func roomFor(data work.VerifyFinishedData) work.VerifyFinishedData {
	for _, leave := range []func(){
		func() {
			for i := range data.Pages {
				data.Pages[i].Old = nil
			}
		},
		func() { data.Ran = data.Ran[:min(len(data.Ran), 4)] },
		func() { data.Notes = nil },
		func() {
			for i := range data.Pages {
				data.Pages[i].New, data.Pages[i].Unlike = nil, text.ClipJSON(data.Pages[i].Unlike, 60)
			}
		},
		func() { data.Output = text.ClipMiddle(data.Output, 1000) },
	} {
		if size, err := encode(data); err == nil && len(size) <= work.MaxEventBytes {
			break
		}
		leave()
	}
	return data
}
