package embedded

import (
	"cmp"

	"forge/internal/shortage"
	"forge/internal/work"
	"forge/orchestrator"
)

// short is what there is no more of where the run is worked on, "" = nothing.
func (r *session) short() string {
	if r.Room == nil {
		return ""
	}
	return shortage.Of(r.Room())
}

// due says that something could be begun.
func (r *session) due() bool {
	_, due := r.next(nil)
	return due
}

// undone is a result that may be what it is for want of room, as nothing at
// all: an agent or a test that cannot write fails, and says so about the work.
func undone(fact orchestrator.Fact, short string) (now orchestrator.Fact, changed bool) {
	switch f := fact.(type) {
	case orchestrator.FolderDone:
		if !f.Setup.OK {
			return orchestrator.Broke{Command: f.Command, Problem: short, Short: short}, true
		}
	case orchestrator.VerifyDone:
		if !f.Report.OK {
			return orchestrator.Broke{Command: f.Command, Problem: short, Short: short}, true
		}
	case orchestrator.IterationDone:
		if f.Report.Outcome != work.OutcomeOK && f.Report.Outcome != work.OutcomePostResult {
			f.Report.Outcome, f.Report.Detail, f.Snapshot = work.OutcomeInterrupted, short, work.Snapshot{}
			return f, true
		}
	case orchestrator.Broke:
		f.Short = cmp.Or(f.Short, short)
		return f, true
	}
	return fact, false
}
