package approval

import (
	"context"
	"fmt"
	"slices"

	"forge/factory/triage"
	"forge/gates"
	"forge/internal/git"
	"forge/internal/jobs"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// Record is a checkpoint with what is judged, as it was when the question was
// asked. Its JSON form is that of forge show.
type Record struct {
	work.Checkpoint
	Name     string            `json:"name,omitempty"` // of the phase
	Level    string            `json:"level"`          // the policy's preset
	Who      string            `json:"who"`            // may answer
	From     string            `json:"from,omitempty"` // commit that Judged is compared with
	Judged   string            `json:"judged,omitempty"`
	Files    []work.FileChange `json:"files"`
	Diff     string            `json:"diff"`
	Evidence Evidence          `json:"evidence"`
	Words
	// Papers are a job's documents as they are judged; null outside of a job.
	Papers *jobs.Folder `json:"papers,omitempty"`

	// Triage is the proposal that is judged; null outside of triage.
	Triage *Triage `json:"triage,omitempty"`
	// Pull is where it is looked at, too; null without a code host.
	Pull *pullrequest.Shown `json:"pull,omitempty"`

	// Over says that its time is over: it takes no answer.
	Over bool `json:"-"`
}

// ReadRecord is cp with what is judged; stat leaves the changes themselves out.
func ReadRecord(ctx context.Context, p *project.Checkout, cp work.Checkpoint, stat bool) (Record, error) {
	if triage.IsThread(cp.Run) {
		return readThread(ctx, p, cp)
	}
	cp, err := Kept(ctx, p, cp)
	if err != nil {
		return Record{Checkpoint: cp}, err
	}
	out := Record{Checkpoint: cp, Files: []work.FileChange{}, Evidence: Evidence{Protected: []string{}, Gone: []string{}}}
	s, err := askedAt(ctx, p, cp, &out.Evidence, &out.Words)
	if err != nil {
		return out, err
	}
	_, out.Over = gates.Expire(cp, p.Now())
	if out.Pull, err = pullrequest.ShownAt(ctx, p, cp); err != nil {
		return out, err
	}
	for _, l := range s.Proposed {
		if cp.Phase == "" || l.Phase == cp.Phase {
			out.Lessons = append(out.Lessons, l)
		}
	}
	out.Level, out.Who = s.Spec.Policy.Preset, gates.WhoAnswers(cp)
	switch ph := s.View(cp.Phase); {
	case ph != nil:
		out.Name, out.From, out.Judged = ph.Plan.Name, ph.Base, JudgedCommit(ph, cp)
		out.Evidence.Protected = append(out.Evidence.Protected, ph.Evidence...)
		out.Evidence.Gone = append(out.Evidence.Gone, ph.Gone...)
		out.Evidence.prove(cp.Phase, ph)
		out.Evidence.Doubts = ph.Record.Doubts
		out.stand(ph)
		if s.Job != nil && slices.Contains(cp.Points, string(gates.PointFinal)) {
			out.From = s.Spec.Job.Start // the job's work as a whole
		}
	case cp.Kind != orchestrator.PointBaseline:
		out.From, out.Judged = s.Spec.Base.Commit, s.Head
		out.Evidence.Proofs = map[string]work.Proof{}
		for _, n := range s.Order {
			ph := s.View(n)
			if ph.Outcome == work.PhaseDone {
				out.Evidence.Proofs[n] = ph.Proof
			}
			out.Evidence.prove(n, ph)
		}
		out.Evidence.Doubts = s.Doubts
	}
	parts := s.Results()
	if cp.Phase != "" {
		parts = nil
	}
	if out.From == out.Judged && len(parts) == 0 {
		return out, nil
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return out, err
	}
	if s.Job != nil && s.View(cp.Phase) != nil {
		read, err := jobs.ReadFolder(ctx, repo, out.Judged)
		if err != nil {
			return out, fmt.Errorf("read the job's documents: %w", err)
		}
		out.Papers = &read
	}
	if len(parts) > 0 {
		return out, out.several(ctx, repo, parts, stat)
	}
	changes, err := repo.Changes(ctx, out.From, out.Judged)
	if err != nil {
		return out, fmt.Errorf("list what is judged: %w", err)
	}
	out.Files = append(out.Files, changes...)
	if !stat {
		if out.Diff, err = repo.Diff(ctx, out.From, out.Judged); err != nil {
			return out, fmt.Errorf("show what is judged: %w", err)
		}
	}
	return out, nil
}

// several adds what is judged in several repositories: each path begins with the
// name of its repository.
func (r *Record) several(ctx context.Context, repo *git.Store, parts []orchestrator.Result, stat bool) error {
	for _, part := range parts {
		changes, err := repo.Changes(ctx, part.Base.Commit, part.Commit)
		if err != nil {
			return fmt.Errorf("list what is judged in %s: %w", part.Repository, err)
		}
		for _, c := range changes {
			c.Path = part.Repository + ":" + c.Path
			r.Files = append(r.Files, c)
		}
		if stat {
			continue
		}
		diff, err := repo.Diff(ctx, part.Base.Commit, part.Commit)
		if err != nil {
			return fmt.Errorf("show what is judged in %s: %w", part.Repository, err)
		}
		r.Diff += git.InRepository(diff, part.Repository)
	}
	return nil
}

// askedAt is the run as it was when cp was opened, with the last verify before,
// and what was said.
func askedAt(ctx context.Context, p *project.Checkout, cp work.Checkpoint, ev *Evidence, words *Words) (*orchestrator.State, error) {
	evs, err := p.Journal.Events(ctx, cp.Run, 0)
	if err != nil {
		return nil, err
	}
	s, err := p.BeginRun(ctx, cp.Run, evs)
	if err != nil {
		return nil, err
	}
	said := map[string]string{} // by phase, where the run as a whole is judged
	for _, e := range evs {
		if err := orchestrator.Apply(s, e); err != nil {
			return nil, err
		}
		switch {
		case cp.Phase == "" && e.Kind == work.IterationFinished:
			var d work.IterationFinishedData
			if err := work.Decode(e, &d); err != nil {
				return nil, err
			}
			said[e.Phase] = d.Message
		case cp.Phase != "" && e.Phase == cp.Phase:
			if err := words.hear(e); err != nil {
				return nil, err
			}
		}
		switch {
		case e.Kind == work.VerifyFinished && (e.Phase == cp.Phase || cp.Phase == ""):
			var d work.VerifyFinishedData
			if err := work.Decode(e, &d); err != nil {
				return nil, err
			}
			ev.Verify = &d
		case e.Kind == work.CheckpointOpened && s.Open[cp.ID] != nil:
			if cp.Phase == "" {
				words.Summary = saidInAll(s, said)
			}
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: run %s does not say that checkpoint %s was opened", journal.ErrBroken, cp.Run, cp.ID)
}
