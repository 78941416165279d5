package landing

import (
	"fmt"
	"strings"

	"forge/factory"
	"forge/internal/text"
	"forge/internal/work"
)

// settle decides what follows from what a step found.
func (d *decision) settle() {
	s := d.s
	switch {
	case s.Stage == StageLook && s.Look != nil:
		d.looked(*s.Look)
	case s.Stage == StageProve && s.Proof != nil:
		d.proved(*s.Look, *s.Proof)
	case s.Stage == StageLand && s.Made != nil:
		d.made(*s.Look, *s.Made)
	case s.Stage == StageCheck && s.Check != nil:
		d.checked(*s.Look, *s.Check)
	}
}

// looked decides what is to be done with a result, as it and its target stand.
func (d *decision) looked(l Look) {
	of := d.s.Of
	merged := l.Pull != nil && l.Pull.State == work.PullMerged
	switch {
	case of.For == ForAgain:
		d.stillAgain(l)
	case of.For == ForShow:
		d.shown(l)
	case of.For != ForLand:
		d.fails("", "nobody knows what %q is for", of.For)
	case l.There && l.Pull == nil && of.Pull == nil:
		d.ends(DecidedData{Decision: DecideLanded, Commit: landedAt(l)})
	case of.Unwanted != "" && !merged:
		d.wait(factory.HoldUnwanted, "%s", of.Unwanted)
	case l.Same && l.There:
		d.ends(DecidedData{Decision: DecideLanded, Commit: landedAt(l), Reason: "what it changes was in " + l.Target + " already"})
	case l.Host && l.Pull == nil:
		d.wait(factory.HoldPullBlocked, "the host has no pull request of it, and does not say why")
	case l.Onto == "":
		d.fails("", "nobody knows where %s is", l.Target)
	case l.Host:
		d.proposed(*l.Pull)
	case l.Out != "":
		d.fails(factory.HoldTargetOut, "%s", l.Out)
	default:
		d.goes(DecideProve, StageProve)
	}
}

func landedAt(l Look) string {
	if l.Head != "" {
		return l.Head
	}
	return l.Onto
}

// proposed decides what follows from how a pull request stands.
func (d *decision) proposed(p PullLook) {
	switch step, hold, reason := factory.NextOfPull(p.PullSeen); step {
	case factory.PullTake:
		d.goes(DecideCheck, StageCheck)
	case factory.PullMerge:
		d.goes(DecideProve, StageProve)
	case factory.PullAgain:
		if ofPeople(&p) && hold == factory.HoldPullPushed && d.s.Of.For == ForLand {
			// What people pushed is proven before anybody works on it: red, it is theirs.
			d.goes(DecideProve, StageProve)
			return
		}
		d.again(hold, reason, "")
	default:
		d.wait(hold, "%s", reason)
	}
}

// ofPeople says that the branch holds what people pushed, on top of the result.
func ofPeople(p *PullLook) bool { return p != nil && p.Head == factory.HeadPeople }

// shown says what the card of a result says that people are asked about.
func (d *decision) shown(l Look) {
	p := l.Pull
	switch {
	case l.Same:
		d.ends(DecidedData{Decision: DecideShown, Reason: "there is no pull request, since nothing in it is new to " + l.Target})
		return
	case p == nil:
		d.wait(factory.HoldPullBlocked, "the host has no pull request of it, and does not say why")
		return
	}
	out := DecidedData{Decision: DecideShown, Reason: fmt.Sprintf("pull request %d waits for you: %s", p.Number, p.Card.URL)}
	switch _, hold, reason := factory.NextOfPull(p.PullSeen); hold {
	case factory.HoldPullClosed, factory.HoldPullBranch, factory.HoldPullPushed:
		out.Hold, out.Reason = hold, reason
	}
	d.ends(out)
}

// stillAgain decides, right before another run is opened, whether it is wanted
// still: people may have changed their minds, and the target may have moved.
func (d *decision) stillAgain(l Look) {
	handed := d.s.Handed
	again := func() {
		d.ends(DecidedData{Decision: DecideAgain, Hold: handed.Hold, Reason: "as it was found before", Waits: true, Until: d.now})
	}
	same := handed != nil && handed.Onto == l.Onto && handed.At == d.s.at() && (handed.Hold == factory.HoldLandingConflict || handed.Hold == factory.HoldLandingRed)
	switch {
	case handed == nil, l.Host != (l.Pull != nil):
	case !l.Host:
		if same {
			again()
			return
		}
	case l.Pull.State == work.PullOpen:
		step, hold, _ := factory.NextOfPull(l.Pull.PullSeen)
		if step == factory.PullAgain && hold != "" || step == factory.PullMerge && same {
			again()
			return
		}
	}
	d.ends(DecidedData{Decision: DecideLeft, Reason: "what another run was wanted for is not so any more"})
}

// proved decides whether the target becomes what was proven.
func (d *decision) proved(l Look, p Proof) {
	at := d.s.at()
	name, more := "its result", ": a run takes both together"
	if l.Pull != nil {
		name = fmt.Sprintf("pull request %d", l.Pull.Number)
	}
	switch {
	case p.Onto != l.Onto || p.At != at:
		d.fails("", "what was proven (%s on %s) is not what was looked at (%s on %s)", text.Short(p.At), text.Short(p.Onto), text.Short(at), text.Short(l.Onto))
	case len(p.Conflicts) > 0 && l.Pull != nil:
		d.again(factory.HoldLandingConflict, fmt.Sprintf("%s conflicts with %s in %s", name, l.Target, strings.Join(p.Conflicts, ", ")), more)
	case len(p.Conflicts) > 0:
		d.again(factory.HoldLandingConflict, "its result conflicts with what has landed meanwhile, in "+strings.Join(p.Conflicts, ", "), more)
	case p.InTheWay != "":
		d.inTheWay(l, p.InTheWay)
	case p.Commit == "" || p.Tree == "":
		d.fails("", "nobody knows what %s would be", l.Target)
	case p.Verdict == Red:
		d.red(l, p, at, name, more)
	case p.Verdict != Green && p.Verdict != NoCommands:
		d.fails("", "nobody knows whether %s would be good: %q", l.Target, p.Verdict)
	case ofPeople(l.Pull):
		d.provenPush(*l.Pull)
	default:
		d.goes(DecideLand, StageLand)
	}
}

// provenPush goes on with what people pushed and is proven: it lands, unless
// specialists are to look at it first.
func (d *decision) provenPush(p PullLook) {
	step, hold, reason := factory.NextOfPull(p.PullSeen)
	if step == factory.PullAgain {
		d.again(hold, reason, "")
		return
	}
	d.goes(DecideLand, StageLand)
}

// red is for what does not pass: on its own it is for people, and beside what
// landed meanwhile it is for the agent.
func (d *decision) red(l Look, p Proof, at, name, more string) {
	switch {
	case ofPeople(l.Pull):
		d.wait(factory.HoldLandingRed, "%s holds what people pushed, and with %s as it is now: %s (%s): push to its branch what mends it and approve that, or ask for changes there (/forge fix) and the agent mends it", name, l.Target, p.Problem, Log)
	case l.Pull != nil && p.Commit == at:
		d.wait(factory.HoldLandingRed, "%s merged with %s as it is now: %s (%s): push to its branch what mends it", name, l.Target, p.Problem, Log)
	case l.Pull != nil:
		d.again(factory.HoldLandingRed, fmt.Sprintf("%s merged with %s as it is now: %s (%s)", name, l.Target, p.Problem, Log), more)
	case p.Commit == at:
		d.fails(factory.HoldLandingRed, "%s, on its result (%s): mend what it needs, then forge issue retry %d", p.Problem, Log, d.s.Of.Issue)
	default:
		d.again(factory.HoldLandingRed, fmt.Sprintf("%s, on its result merged with what has landed meanwhile (%s)", p.Problem, Log), more)
	}
}

// Log is what verify printed, in the folder of the run.
const Log = "logs/landing-verify.log"

// inTheWay waits until nothing of a person's is in the way of moving the branch
// that they have checked out.
func (d *decision) inTheWay(l Look, why string) {
	d.ends(DecidedData{Decision: DecideWait, Hold: factory.HoldTargetOut, Waits: true, Until: d.later(0),
		Reason: fmt.Sprintf("factory.target %s is checked out, and not moved: %s; tried again by itself", l.Target, why)})
}

// made decides what follows from moving the target.
func (d *decision) made(l Look, m Made) {
	proven := d.s.Proof
	switch {
	case m.Moved != "":
		d.moved(m.Moved)
	case m.InTheWay != "":
		d.inTheWay(l, m.InTheWay)
	case l.Host:
		d.goes(DecideCheck, StageCheck)
	case m.Commit == "" || m.Commit != proven.Commit:
		d.fails("", "%s was to become %s, and is said to be %q", l.Target, text.Short(proven.Commit), text.Short(m.Commit))
	default:
		out := DecidedData{Decision: DecideLanded, Commit: m.Commit}
		with := ""
		if n := len(proven.With); n > 0 {
			with = " together with " + text.Number(n, "other issue") + ", proven as one"
			out.Reason = "landed on " + l.Target + with
		}
		if l.Here {
			out.Reason = fmt.Sprintf("landed on %s, your checked-out branch, as %s%s (undo: %s)", l.Target, text.Short(m.Commit), with, m.Undo)
		}
		d.ends(out)
	}
}

// checked decides what a merge is worth that the host made: what landed is what
// was proven, or is proven as it is now.
func (d *decision) checked(l Look, c Check) {
	number, by := l.Pull.Number, "the host"
	if d.s.Made == nil {
		by = l.Pull.MergedBy
	}
	switch {
	case c.Commit == "" || c.Commit != d.s.merged():
		d.wait(factory.HoldPullBlocked, "pull request %d is merged, and the host does not say to what", number)
	case !c.There:
		d.wait(factory.HoldPullBlocked, "pull request %d was merged by %s, and %s does not hold what came of it (%s)", number, by, l.Target, text.Short(c.Commit))
	case c.Tree != "" && c.Tree == d.s.proven():
		d.ends(DecidedData{Decision: DecideLanded, Commit: c.Commit})
	case c.Verdict == Green:
		d.ends(DecidedData{Decision: DecideLanded, Commit: c.Commit, Reason: fmt.Sprintf("merged by %s, not as it was proven before: it was proven again", by)})
	case c.Verdict == NoCommands:
		d.ends(DecidedData{Decision: DecideLanded, Commit: c.Commit, Reason: fmt.Sprintf("merged by %s, and not what the run left: nothing proves it", by)})
	case c.Verdict == Red:
		d.wait(factory.HoldLandingRed, "pull request %d was merged by %s, not as it was proven: %s (%s); mend it in %s, then forge issue run %d", number, by, c.Problem, Log, l.Target, d.s.Of.Issue)
	default:
		d.wait(factory.HoldLandingRed, "pull request %d was merged by %s, not as it was proven, and nobody knows whether %s is good", number, by, l.Target)
	}
}
