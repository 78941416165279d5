package web

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strings"

	"forge/gates"
	"forge/orchestrator"
)

// comparedTry is a proven try of a phase, beside the others from which a person
// takes one.
type comparedTry struct {
	Number, By, Line string
	At               string // address of the run
	Files            []changedFile
	Gone             bool // its change cannot be read here
}

// compare adds the changes of the tries that a person chooses from.
func (s *Server) compare(ctx context.Context, p Project, d *cockpitData) error {
	if d.Checkpoint.Kind != string(gates.PointTries) {
		return nil
	}
	st, err := p.Runs.State(ctx, d.Checkpoint.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	facts, best := st.TriesOf(d.Checkpoint.Phase)
	for i, f := range facts {
		if !f.Proven {
			continue
		}
		_, line, _ := strings.Cut(f.String(), ": ")
		one := comparedTry{Number: f.Number, By: f.Agent, Line: line, At: "/p/" + p.ID + "/runs/" + url.PathEscape(st.Run)}
		if i == best {
			one.Line += " (proposed)"
		}
		s.changeOfTry(ctx, p, st.View(f.Number), &one)
		d.Compared = append(d.Compared, one)
	}
	return nil
}

func (s *Server) changeOfTry(ctx context.Context, p Project, try *orchestrator.View, one *comparedTry) {
	change, err := s.changes.change(ctx, p, try.Base, try.Last)
	if err != nil {
		s.Log.Debug("the change of a try is not shown", "try", try.Number, "err", err)
		one.Gone = true
		return
	}
	for i := range change.Files {
		one.Files = append(one.Files, lineOfFile(&change.Files[i], i))
	}
}
