package handoff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"forge/factory/triage"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// runs are the runs that have a record at the remote, the newest first, with
// its commit.
func (r Remote) runs(ctx context.Context) (names []string, at map[string]string, err error) {
	if r.p.Getenv("FORGE_PHASE") != "" || r.p.Getenv("FORGE_LEASE") != "" {
		return nil, nil, refusal.New("a person looks from outside", "no remote is asked inside a phase")
	}
	refs, err := r.repo.RemoteRefs(ctx, r.remote, RecordRefs)
	if err != nil {
		return nil, nil, err
	}
	at = map[string]string{}
	for ref, id := range refs {
		run := strings.TrimPrefix(ref, RecordRefs+"/")
		if strings.Trim(run, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || triage.IsThread(run) {
			continue
		}
		names, at[run] = append(names, run), id
	}
	slices.Sort(names) // an id begins with its day
	slices.Reverse(names)
	return names, at, nil
}

// find is the run of the remote with that id, or the only one that begins with
// it; "" = the only one there.
func (r Remote) find(ctx context.Context, id string) (string, error) {
	names, _, err := r.runs(ctx)
	if err != nil {
		return "", err
	}
	found := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, id) })
	switch {
	case slices.Contains(names, id) && id != "":
		return id, nil
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && id == "":
		return "", refusal.New("forge run --push sends one", "there is no run at %q", r.remote)
	case len(found) == 0:
		return "", refusal.New("forge checkpoints --remote "+r.remote+" lists what waits there", "there is no run %q at %q", id, r.remote)
	}
	return "", refusal.New("name one of "+strings.Join(found[:min(len(found), 5)], ", "), "%d runs at %q may be meant", len(found), r.remote)
}

// Fetch brings the run of the remote with that id, or the only one that begins
// with it.
func (r Remote) Fetch(ctx context.Context, id string) error {
	run, err := r.find(ctx, id)
	if err != nil {
		return err
	}
	_, err = r.bring(ctx, run)
	return err
}

// bring makes this machine's copy of a run what the remote says, after it was
// checked. A copy that is no beginning of it stays as it is.
func (r Remote) bring(ctx context.Context, run string) (arrived, error) {
	t, away, err := r.p.Journal.TravelOf(ctx, run)
	if err != nil {
		return arrived{}, err
	}
	if err := CheckSame(run, r.remote, t, away); err != nil {
		return arrived{}, err
	}
	head, err := r.head(ctx, run)
	if err == nil && head == "" {
		err = refusal.New("forge push "+run+" --forget makes the copy of this machine a run of its own", "there is no run %s at %q any more", run, r.remote)
	}
	if err != nil {
		return arrived{}, err
	}
	// A commit that is here may lack what it is made of, unless it was checked.
	if known, err := r.repo.ReadRef(ctx, keptRecord(run)); err != nil {
		return arrived{}, err
	} else if known != head {
		if err := r.repo.FetchRefs(ctx, r.remote, RecordRef(run)); err != nil {
			return arrived{}, err
		}
	}
	a, err := r.read(ctx, run, head)
	if err != nil {
		return a, err
	}
	if t.Tip != "" && head != t.Tip {
		grown, err := r.repo.Holds(ctx, head, t.Tip)
		if err != nil {
			return a, err
		}
		if !grown {
			return a, &journal.DamagedError{Run: run, What: fmt.Sprintf("what is at %q did not grow out of what was there before: its history was replaced", r.remote)}
		}
	}
	mine := a.rec.Holder.Claim != "" && a.rec.Holder.Claim == t.Claim && (head == t.Tip || head == t.Sent)
	t.Remote, t.Tip, t.Sent, t.Here = r.remote, head, "", mine
	if mine {
		// What was done here since is nowhere else.
		return a, r.p.Journal.SetTravel(ctx, run, t)
	}
	err = r.settled(ctx, a, t)
	var ahead *journal.AheadError
	if errors.As(err, &ahead) {
		return a, refusal.New("keep one of the two: forge push "+run+" --forget keeps this machine's and leaves the remote's alone", "%v", err)
	}
	return a, err
}

// stale is a copy that the remote has left behind.
func (r Remote) stale(run string) error {
	return refusal.New("forge resume "+run+" --remote "+r.remote+" goes on from there; forge push "+run+" --forget makes this copy a run of its own",
		"run %s moved on at %q since this machine sent it: the copy here is stale, and nothing was done with it", run, r.remote)
}

// claim makes this machine the only one that works on a run that is at the
// remote. The copy here must be what is there, else it is stale. force takes
// the run from a machine that is gone for good.
func (r Remote) claim(ctx context.Context, run string, force bool) error {
	for range 5 {
		err := r.tryClaim(ctx, run, force)
		if !isMoved(err) {
			return err
		}
	}
	return r.stale(run)
}

func (r Remote) tryClaim(ctx context.Context, run string, force bool) error {
	t, away, err := r.p.Journal.TravelOf(ctx, run)
	if err != nil || !away {
		return err
	}
	head, err := r.head(ctx, run)
	switch {
	case err != nil:
		return err
	case head == "" && t.Tip == "":
		return r.p.Journal.DropTravel(ctx, run) // it never arrived
	case head == "" || head != t.Tip && head != t.Sent:
		return r.stale(run)
	}
	a, err := r.bring(ctx, run)
	if err != nil {
		return err
	}
	if t, _, err = r.p.Journal.TravelOf(ctx, run); err != nil || t.Here {
		return err
	}
	if h := a.rec.Holder; h.Claim != "" && !force {
		return r.heldBy(run, h)
	}
	host, _ := os.Hostname()
	a.rec.Holder = journal.Holder{Claim: runs.NewMark(), Host: host, Since: r.p.Now().UTC()}
	t.Claim = a.rec.Holder.Claim
	return r.put(ctx, a.rec, commitsOf(a.rec, a.state), t, true)
}

// GiveBack ends the claim on a run that cannot be gone on with here after all.
// One that a process of this machine works on stays claimed.
func GiveBack(ctx context.Context, p *project.Checkout, repo *git.Store, run string) error {
	t, away, err := p.Journal.TravelOf(ctx, run)
	if err != nil || !away || !t.Here {
		return err
	}
	if row, err := p.Journal.RunOf(ctx, run); err != nil || row.Alive {
		return err
	}
	return At(p, repo, t.Remote).sendRecord(ctx, run)
}

func (r Remote) heldBy(run string, h journal.Holder) error {
	return refusal.New("let it go on there, or forge push "+run+" there; when that machine is gone for good: forge resume "+run+" --remote "+r.remote+" --take",
		"run %s is being worked on by machine %s since %s", run, text.OneLine(h.Host, 60), h.Since.Local().Format("2006-01-02 15:04:05"))
}

// answer answers a checkpoint of a run that is at the remote: the answer counts
// when it arrived there first, and only then is it this machine's too.
func (r Remote) answer(ctx context.Context, run string, ans work.Answer) (work.Checkpoint, error) {
	for range 5 {
		a, err := r.bring(ctx, run)
		if err != nil {
			return work.Checkpoint{}, err
		}
		t, _, err := r.p.Journal.TravelOf(ctx, run)
		if err != nil {
			return work.Checkpoint{}, err
		}
		if t.Here {
			return r.p.Journal.Answer(ctx, ans)
		}
		if h := a.rec.Holder; h.Claim != "" {
			return work.Checkpoint{}, r.heldBy(run, h)
		}
		cp, err := a.rec.Answer(ans)
		if err != nil {
			return cp, err
		}
		if a.rec.Refs, err = r.repo.RefsBelow(ctx, orchestrator.Ref(run, "")); err != nil {
			return cp, err
		}
		err = r.put(ctx, a.rec, commitsOf(a.rec, a.state), t, false)
		if isMoved(err) {
			continue
		}
		if err != nil {
			return cp, refusal.New("forge show "+cp.ID+" --remote "+r.remote+" shows whether it arrived", "answer checkpoint %s at %q: %v", cp.ID, r.remote, err)
		}
		_, err = r.bring(ctx, run)
		return cp, err
	}
	return work.Checkpoint{}, refusal.New("try again", "run %s changes at %q all the time", run, r.remote)
}

// AnswerAway is store.Answer for a run that is at a remote.
func AnswerAway(ctx context.Context, p *project.Checkout, away *journal.AwayError, seen work.Checkpoint, ans work.Answer) (work.Checkpoint, error) {
	repo, err := p.Repo(ctx)
	if err != nil {
		return work.Checkpoint{}, err
	}
	if ans.Revision == 0 {
		ans.Revision = seen.Revision // what the person was shown
	}
	return At(p, repo, away.Remote).answer(ctx, away.Run, ans)
}

// Wanted is a run that is to be gone on with here.
type Wanted struct {
	Run        string // its id, or its beginning; "" = the newest that can go on
	Remote     string
	Fetch      bool // the remote was named: the run is taken from there
	Push       bool // it is to be sent there at the end; it need not be there yet
	Force      bool // from a machine that is gone for good
	AsRecorded bool // with the settings of the other machine
}

// Take makes sure that this machine, and no other, goes on with a run: one
// that is at a remote is claimed there. It returns the id of the run to resume.
func Take(ctx context.Context, p *project.Checkout, repo *git.Store, o Wanted) (string, error) {
	run := o.Run
	r := At(p, repo, o.Remote)
	if o.Fetch {
		found, err := r.find(ctx, run)
		switch {
		case err != nil && o.Push:
			// It is to be sent there; a run of this machine then.
		case err != nil:
			return "", err
		default:
			run = found
			if _, err := r.bring(ctx, run); err != nil {
				return "", err
			}
		}
	}
	row, err := runs.PickResumable(ctx, p, run)
	if err != nil {
		return "", err
	}
	t, away, err := p.Journal.TravelOf(ctx, row.ID)
	if err != nil || !away {
		return row.ID, err
	}
	if o.Fetch {
		if err := CheckSame(row.ID, o.Remote, t, away); err != nil {
			return "", err
		}
	}
	r.remote = t.Remote
	if err := CheckElsewhere(ctx, p, row.ID, nil, o.AsRecorded); err != nil {
		return "", err
	}
	return row.ID, r.claim(ctx, row.ID, o.Force)
}
