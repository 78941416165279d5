package agent

import (
	"cmp"
	"strings"
	"time"

	"forge/internal/work"
)

// log reads a line of the program's log. Other versions may log otherwise:
// then less is known, and nothing is taken for success.
func (o *opencodeStream) log(line []byte) {
	level := logValue(line, "level")
	if level == "" {
		return
	}
	o.live.firstSign()
	o.mu.Lock()
	defer o.mu.Unlock()
	if level == "ERROR" {
		o.end.logged = cmp.Or(logValue(line, "error.error"), logValue(line, "error"), o.end.logged)
		if o.end.vague {
			o.end.why = cmp.Or(o.end.logged, o.end.why)
		}
	}
	switch logValue(line, "message") {
	case "created":
		if id := logValue(line, "id"); o.session == "" && o.req.Session == "" && strings.HasPrefix(id, "ses_") && logValue(line, "parentID") == "undefined" {
			o.session = id
		}
	case "stream":
		o.answered()
		o.toolsEnded()
	case "stream error":
		if logValue(line, "small") != "true" { // a title is nothing to wait for
			o.refused()
		}
	case "evaluated":
		if action := logValue(line, "action.action"); action == "allow" || action == "ask" {
			o.toolsBegun()
		}
	case "exiting loop":
		if id := logValue(line, "session.id"); id != "" && id == cmp.Or(o.session, o.req.Session) {
			o.answered()
			o.toolsEnded()
			o.end.left = true
			o.live.gotResult()
		}
	}
}

// refused begins to wait for the provider. The program tries five times more,
// with pauses of at most 40 s, but for hours where the provider says so, and
// prints nothing. Beyond longRetry Forge waits itself: visibly, and holding
// nothing.
func (o *opencodeStream) refused() {
	o.live.show("retry", "trying again after: "+o.end.logged)
	o.answered()
	o.waiting = true
	o.live.busy(1)
	why := o.end.logged
	o.patient = time.AfterFunc(longRetry, func() {
		o.live.stop(stop{outcome: work.OutcomeRateLimited, detail: "the model's provider asks to wait: " + why})
	})
}

// answered ends the wait for the provider.
func (o *opencodeStream) answered() {
	if o.waiting {
		o.patient.Stop()
		o.waiting = false
		o.live.busy(-1)
	}
}

// toolsBegun notes that a tool runs: the program does not say so, but logs
// that it is allowed to. Which call that is does not stand there, so that all
// are over when the model is asked again.
func (o *opencodeStream) toolsBegun() {
	if !o.tools {
		o.tools = true
		o.live.busy(1)
	}
}

func (o *opencodeStream) toolsEnded() {
	if o.tools {
		o.tools = false
		o.live.busy(-1)
	}
}
