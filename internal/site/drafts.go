package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	pages "forge/factory/web"
	"forge/internal/atomicfile"
	"forge/internal/draft"
	"forge/internal/planrun"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// drafted is the record of a draft in the state folder: what an agent was paid for
// outlives the page that asked for it, and the server.
type drafted struct {
	pages.Draft
	Plan *work.Plan `json:"plan,omitempty"`
}

// draftPrefix begins the ids of drafts.
const draftPrefix = "d-"

// draftFile is where the record of a draft is; an id that is none has no file.
func draftFile(state, id string) (string, error) {
	if !regexp.MustCompile(`^` + draftPrefix + `[a-z0-9-]{1,60}$`).MatchString(id) {
		return "", pages.ErrNoDraft
	}
	return filepath.Join(state, "drafts", id+".json"), nil
}

func keepDraft(state string, d drafted) error {
	path, err := draftFile(state, d.ID)
	if err != nil {
		return err
	}
	body, err := json.MarshalIndent(d, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(path, append(body, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the draft of a plan: %w", err)
	}
	return nil
}

// readDraft is a draft by its record, with what has become of it.
func (s Starts) readDraft(state, id string) (d drafted, err error) {
	path, err := draftFile(state, id)
	if err != nil {
		return d, err
	}
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, pages.ErrNoDraft
	}
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	if err != nil {
		return d, fmt.Errorf("read the draft of a plan: %w", err)
	}
	if d.ID = id; d.State == pages.DraftUnderWay && !s.Jobs.has(id) {
		// It may have ended since the record was read.
		if again, err := os.ReadFile(path); err == nil && string(again) != string(body) {
			return s.readDraft(state, id)
		}
		d.State = pages.DraftInterrupted
	}
	return d, nil
}

// Draft has the agent draft the plan of a text beside the request that asked.
func (s Starts) Draft(ctx context.Context, o pages.RunOrder) (string, error) {
	id, err := s.draft(ctx, o)
	return id, forPages(err)
}

func (s Starts) draft(ctx context.Context, o pages.RunOrder) (string, error) {
	if err := planrun.CheckText(o.Text); err != nil {
		return "", err
	}
	o.Draft = ""
	p, spec, err := s.resolve(ctx, o, true)
	if err != nil {
		return "", err
	}
	// Nothing is spent on a plan that could not be run.
	if err := planrun.Ready(ctx, p, spec); err != nil {
		return "", err
	}
	if err := unfinished(p.CheckUnfinished(ctx, false, "forge run")); err != nil {
		return "", err
	}
	all, err := s.Drafts(ctx)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(d pages.Draft) bool { return d.State == pages.DraftUnderWay }) {
		return "", refusal.New("wait for it, or drop it", "a plan is drafted in this project already")
	}

	d := drafted{Draft: pages.Draft{ID: draftPrefix + p.NewRunID(), Text: o.Text, Tries: o.Tries, By: o.By, Began: p.Now(), State: pages.DraftUnderWay}}
	if err := keepDraft(p.State, d); err != nil {
		return "", err
	}
	s.Jobs.beside(ctx, d.ID, func(ctx context.Context) { s.finishDraft(ctx, p, d) })
	return d.ID, nil
}

// finishDraft drafts, and records what came of it. A server that ends meanwhile
// leaves the record as it is: the draft was interrupted.
func (s Starts) finishDraft(ctx context.Context, p *project.Checkout, d drafted) {
	plan, err := draft.OfText(ctx, p, d.Text, d.Tries)
	if ctx.Err() != nil {
		return
	}
	if d.Ended, d.State = p.Now(), pages.DraftReady; err != nil {
		d.State, d.Problem = pages.DraftFailed, err.Error()
		if refused := (*refusal.Error)(nil); errors.As(err, &refused) {
			d.Problem, d.Fix = refused.What, refused.Fix
		}
	} else {
		d.Plan = &plan
	}
	if err := keepDraft(p.State, d); err != nil {
		p.Log.Error("a draft is lost", "err", err)
	}
}

// Drafts are the drafts that no run was begun with, the newest first.
func (s Starts) Drafts(context.Context) ([]pages.Draft, error) {
	state := s.Jobs.p.State
	entries, err := os.ReadDir(filepath.Join(state, "drafts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for drafts of plans: %w", err)
	}
	var out []pages.Draft
	for _, e := range entries {
		id, isRecord := strings.CutSuffix(e.Name(), ".json")
		if !isRecord || !strings.HasPrefix(id, draftPrefix) {
			continue
		}
		if d, err := s.readDraft(state, id); err == nil { // one that is gone or broken is no draft
			out = append(out, d.Draft)
		}
	}
	slices.SortFunc(out, func(a, b pages.Draft) int { return b.Began.Compare(a.Began) })
	return out, nil
}

// Drafted is one draft.
func (s Starts) Drafted(_ context.Context, id string) (pages.Draft, error) {
	d, err := s.readDraft(s.Jobs.p.State, id)
	return d.Draft, err
}

// DropDraft ends a draft, and forgets it.
func (s Starts) DropDraft(_ context.Context, id string) error {
	path, err := draftFile(s.Jobs.p.State, id)
	if err != nil {
		return err
	}
	s.Jobs.end(id)
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return pages.ErrNoDraft
	} else if err != nil {
		return fmt.Errorf("drop the draft of a plan: %w", err)
	}
	return nil
}

// planOf is the plan of a draft, with the text that it is for.
func (s Starts) planOf(state, id string) (d drafted, err error) {
	if d, err = s.readDraft(state, id); err != nil {
		return d, err
	}
	if d.Plan == nil {
		return d, refusal.New("wait for it, or draft another", "there is no plan yet in this draft")
	}
	return d, nil
}
