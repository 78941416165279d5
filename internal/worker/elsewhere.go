package worker

import (
	"context"
	"errors"
	"fmt"

	"forge/factory"
	"forge/factory/landing"
	"forge/internal/config"
	"forge/internal/pullrequest"
	"forge/internal/runs"
	"forge/internal/shortage"
	"forge/internal/work"
)

// sameHost refuses a [host] that names another place than when the worker was
// opened: its watch reads the one from before, and what lands in between may
// belong to either. Nothing is asked of any of them.
func (s *Worker) sameHost(now config.CodeHost) error {
	was, is := pullrequest.HostPlace(s.host).String(), pullrequest.HostPlace(now).String()
	if was == is {
		return nil
	}
	return &work.HostTrouble{
		Kind: work.HostNotYet, What: fmt.Sprintf("[host] was changed since the factory started, from %s to %s: nothing is begun or landed until it is started again", was, is),
		Fix: "start forge factory again, or change it back",
	}
}

// sayHost says once of what else was changed in [host] that it counts later.
func (s *Worker) sayHost(now config.CodeHost) {
	now.Always, now.Named = s.host.Always, s.host.Named // runs are opened with those
	if now == s.admission.said {
		return
	}
	s.admission.said = now
	if now != s.host {
		s.Log.Warn("[host] was changed: reviews and webhooks are read as it was, until forge factory is started again", "project", s.Project)
	}
}

// placed is a worker that leaves alone what people look at on another code host
// than [host] names by now: there is nothing of it on this one, where the number
// of its pull request is somebody else's, and it does not land without a host.
type placed struct{ *Worker }

// elsewhere says that an issue's pull request is not on the worker's code host. A
// card that does not say where it is counts as such.
func (s *Worker) elsewhere(i work.Issue) bool {
	return i.Pull != nil && i.Pull.Host != pullrequest.HostPlace(s.host).String()
}

// Drive goes on with the run itself.
func (s placed) Drive(ctx context.Context, o factory.Order) (factory.Ended, error) {
	if at := pullrequest.HostPlace(s.host); s.elsewhere(o.Issue) && at.Remote() {
		o.Issue.Pull = nil // there is none here
	}
	return s.later(s.Worker.Drive(ctx, o))
}

// later is how a run was left; one that nothing is wrong with is tried again: the machine
// ran out of something, or what drives it is away.
func (s placed) later(ended factory.Ended, err error) (factory.Ended, error) {
	why := shortage.Of(err)
	if away := (*runs.AwayError)(nil); errors.As(err, &away) {
		why = away.Error()
	}
	if why == "" {
		return ended, err
	}
	return factory.Ended{Outcome: work.RunLimit, Reason: why, Until: s.Now().Add(shortPause)}, nil
}

// Land holds a result whose pull request is elsewhere.
func (s placed) Land(ctx context.Context, i work.Issue, unwanted string, shown func(work.IssuePull) error) (factory.Landed, error) {
	return s.waits(s.tried(ctx, i, landing.Begin{For: landing.ForLand, Unwanted: unwanted}, shown, s.notHere(i)))
}

// Show does so as well.
func (s placed) Show(ctx context.Context, i work.Issue, shown func(work.IssuePull) error) (factory.Landed, error) {
	return s.waits(s.tried(ctx, i, landing.Begin{For: landing.ForShow}, shown, s.notHere(i)))
}

// waits is what came of a try that could not even be written down, where the machine
// has run out of something: it says nothing about the result.
func (s placed) waits(l factory.Landed, err error) (factory.Landed, error) {
	short := shortage.Of(err)
	if short == "" {
		return l, err
	}
	until := s.Now().Add(shortPause)
	return factory.Landed{Hold: factory.HoldShort, Waits: true, Until: until, Reason: fmt.Sprintf("tried again at %s: %s", until.UTC().Format("15:04Z"), short)}, nil
}

// notHere is why nothing is asked of the code host about an issue, nil = it may be.
func (s placed) notHere(i work.Issue) error {
	if !s.elsewhere(i) {
		return nil
	}
	there := i.Pull.Host
	if there == "" {
		there = "a code host that its card does not name"
	}
	return &work.HostTrouble{
		Kind: work.HostNotYet, What: fmt.Sprintf("its pull request %d is on %s, and [host] names %s", i.Pull.Number, there, pullrequest.HostPlace(s.host)),
		Fix: "name that one again, and start forge factory again",
	}
}
