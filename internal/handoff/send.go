package handoff

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forge/factory/triage"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// sendWhenStopped bounds the sending of a run that was interrupted.
const sendWhenStopped = 5 * time.Second

// CheckSame refuses a remote that a run is not at.
func CheckSame(run, remote string, t journal.Travel, away bool) error {
	if away && remote != t.Remote {
		return refusal.New("leave --remote out, or forge push "+run+" --forget first", "run %s is at %q, not at %q", run, t.Remote, remote)
	}
	return nil
}

// SendEnd sends a run that its process leaves, to remote when push asks for it,
// or to where the run is already. Without, a run that a machine leaves behind which
// goes away is lost, and that is said.
func SendEnd(ctx context.Context, p *project.Checkout, repo *git.Store, s *orchestrator.State, end work.RunFinishedData, push bool, remote string) error {
	t, away, err := p.Journal.TravelOf(ctx, s.Run)
	if err != nil {
		return err
	}
	if !push && !away {
		if p.Getenv("CI") != "" && !end.Outcome.Final() {
			p.Log.Warn("the run waits in the state folder of this machine, and is lost with it when the machine goes away; --push sends it to a remote", "run", s.Run, "state", p.State)
		}
		return nil
	}
	if away {
		remote = t.Remote
	}
	if end.Outcome == work.RunInterrupted {
		// Whoever stopped it does not wait for long.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, sendWhenStopped, fmt.Errorf("no answer in %v", sendWhenStopped))
		defer cancel()
	}
	r := At(p, repo, remote)
	err = r.Send(ctx, s)
	if err == nil && !end.Outcome.Final() {
		p.Log.Info("the run rests at the remote; any machine with a clone goes on with it", "remote", r.remote, "next", "forge resume "+s.Run+" --remote")
	}
	return err
}

// CheckOne refuses to send a run that works in several repositories: a record has
// the commits of one.
func CheckOne(spec orchestrator.Spec) error {
	if len(spec.Repositories) > 0 {
		return refusal.New("leave --push out: it is worked on where its repositories are", "a run that works in several repositories cannot be sent to a remote")
	}
	return nil
}

// Send sends the record, which holds all that the run needs, and then the
// branch: also where the remote takes no references but branches.
func (r Remote) Send(ctx context.Context, s *orchestrator.State) error {
	if err := CheckOne(s.Spec); err != nil {
		return err
	}
	err := r.sendRecord(ctx, s.Run)
	var refused *git.CommandError
	var gone *git.UnreachableError
	if err != nil && (!errors.As(err, &refused) || errors.As(err, &gone)) {
		return err
	}
	branchErr := r.sendBranch(ctx, s)
	if err == nil && branchErr != nil {
		return &BranchLeftError{run: s.Run, err: branchErr}
	}
	return errors.Join(err, branchErr)
}

// BranchLeftError is a branch that did not arrive, of a run that did.
type BranchLeftError struct {
	run string
	err error
}

func (e *BranchLeftError) Error() string {
	return fmt.Sprintf("run %s arrived, and its branch did not: %v (forge push %s tries again)", e.run, e.err, e.run)
}

func (e *BranchLeftError) Unwrap() error { return e.err }

// sendBranch pushes the run's branch as an ordinary one, unless nothing is on
// it yet.
func (r Remote) sendBranch(ctx context.Context, s *orchestrator.State) error {
	branch, err := "", error(nil)
	switch {
	case s.Delivery != nil && s.Delivery.Branch != "":
		branch = s.Delivery.Branch
		err = r.repo.Push(ctx, r.remote, branch)
	case s.Spec.Branch != "" && s.Head != "" && s.Head != s.Spec.Base.Commit:
		branch = s.Spec.Branch
		err = r.repo.PushBranch(ctx, r.remote, branch, s.Head)
	}
	if err == nil && branch != "" {
		r.p.Log.Info("pushed", "branch", branch, "remote", r.remote)
	}
	return err
}

// Remote is where a run is besides this machine: a remote of the user's
// repository, with a record of the run as a commit.
type Remote struct {
	p      *project.Checkout
	repo   *git.Store
	remote string
}

// At is a remote of the user's repository by its name.
func At(p *project.Checkout, repo *git.Store, name string) Remote {
	return Remote{p: p, repo: repo, remote: name}
}

// RecordRefs is where records are at a remote.
const RecordRefs = "refs/forge/runs"

// RecordRef is where the record of a run is at a remote.
func RecordRef(run string) string { return RecordRefs + "/" + run }

// keptRecord is the reference of Forge's own repository at the last record of a
// run that was checked here.
func keptRecord(run string) string { return "refs/forge/travel/" + run }

// head is the commit with the record of a run that is at the remote, "" = none.
func (r Remote) head(ctx context.Context, run string) (string, error) {
	refs, err := r.repo.RemoteRefs(ctx, r.remote, RecordRef(run))
	if err != nil {
		return "", err
	}
	return refs[RecordRef(run)], nil
}

// sendRecord puts the record of a run that nobody works on to the remote, on top of
// what is there.
func (r Remote) sendRecord(ctx context.Context, run string) error {
	if triage.IsThread(run) {
		return refusal.New("", "%s is the triage of an issue, whose board does not travel", run)
	}
	t, away, err := r.p.Journal.TravelOf(ctx, run)
	if err != nil {
		return err
	}
	head, err := r.head(ctx, run)
	switch {
	case err != nil:
		return fmt.Errorf("send run %s: %w", run, err)
	case head != "" && !away:
		return refusal.New("forge resume "+run+" --remote "+r.remote+" takes that one, if this machine's is a beginning of it", "%q already has a run %s, and this machine has not sent it", r.remote, run)
	case head != t.Tip && head != t.Sent:
		return r.stale(run)
	case head != "" && head == t.Sent && head != t.Tip:
		// It arrived, and nobody learnt of it.
		if _, err := r.bring(ctx, run); err != nil {
			return err
		}
		if t, _, err = r.p.Journal.TravelOf(ctx, run); err != nil || !t.Here {
			return err
		}
	}
	if t.Here || !away {
		// Nobody may begin to work on it while it is being written down.
		lease, err := r.p.Journal.AcquireRun(ctx, run, journal.Self())
		if err != nil {
			return fmt.Errorf("send run %s: %w", run, err)
		}
		defer func() { _ = lease.Release(context.WithoutCancel(ctx)) }()
	}
	was := t
	t.Remote, t.Here = r.remote, false
	if err := r.p.Journal.SetTravel(ctx, run, t); err != nil {
		return err
	}
	rec, parents, err := r.written(ctx, run)
	if err == nil {
		err = r.put(ctx, rec, parents, t, false)
	}
	if err == nil || errors.Is(err, git.ErrUnsure) || isMoved(err) {
		return r.told(run, err)
	}
	// It did not arrive: the run is where it was.
	back := r.p.Journal.DropTravel
	if away {
		back = func(ctx context.Context, run string) error { return r.p.Journal.SetTravel(ctx, run, was) }
	}
	return errors.Join(r.told(run, err), back(ctx, run))
}

// told is a failed sending with the way out.
func (r Remote) told(run string, err error) error {
	switch {
	case err == nil:
		return nil
	case isMoved(err):
		return r.stale(run)
	case errors.Is(err, git.ErrUnsure):
		return refusal.New("forge push "+run+" finds out and tries again; until then it rests", "send run %s: %v", run, err)
	}
	return fmt.Errorf("send run %s: %w (forge push %s tries again)", run, err, run)
}

func isMoved(err error) bool {
	var moved *git.MovedError
	return errors.As(err, &moved)
}

// written is the record of a run as this machine has it, and the commits that
// it needs.
func (r Remote) written(ctx context.Context, run string) (*journal.Record, []string, error) {
	rec, err := r.p.Journal.Export(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	s, err := foldRecord(rec)
	if err != nil {
		return nil, nil, err
	}
	if rec.Refs, err = r.repo.RefsBelow(ctx, orchestrator.Ref(run, "")); err != nil {
		return nil, nil, err
	}
	return rec, commitsOf(rec, s), nil
}

// put commits a record on top of the one that is at the remote, and moves the
// remote's reference there when it is still at t.Tip. What is about to be pushed
// is noted before, so that a process which dies in between is understood.
func (r Remote) put(ctx context.Context, rec *journal.Record, parents []string, t journal.Travel, here bool) error {
	files, err := rec.Files()
	if err != nil {
		return err
	}
	var size int64
	for _, data := range files {
		size += int64(len(data))
	}
	if size > git.MaxRecordBytes || len(files) > git.MaxRecordFiles {
		return refusal.New("keep the state folder instead", "the journal of run %s has %d files and %d MB, more than travels (%d, %d MB)", rec.Run, len(files), size>>20, git.MaxRecordFiles, git.MaxRecordBytes>>20)
	}
	if t.Tip != "" {
		parents = append([]string{t.Tip}, parents...)
	}
	message := fmt.Sprintf("run %s: %d events\n\nForge-Run: %s\nForge-Journal: %s\n", rec.Run, len(rec.Events), rec.Run, rec.Head())
	if t.Sent, err = r.repo.CommitRecord(ctx, files, parents, message); err != nil {
		return err
	}
	if err := r.p.Journal.SetTravel(ctx, rec.Run, t); err != nil {
		return err
	}
	if err := r.repo.PushRef(ctx, r.remote, RecordRef(rec.Run), t.Sent, t.Tip); err != nil {
		return err
	}
	t.Tip, t.Here = t.Sent, here
	if err := r.repo.UpdateRef(ctx, keptRecord(rec.Run), t.Tip, ""); err != nil {
		return err
	}
	return r.p.Journal.SetTravel(ctx, rec.Run, t)
}
