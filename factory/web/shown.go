package web

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"forge/internal/work"
	"forge/orchestrator"
)

// Pictures are those that proofs keep of pages.
type Pictures interface {
	// Picture is the PNG of a name. Whoever asks has seen to it that a proof names it.
	Picture(ctx context.Context, name string) ([]byte, error)
	// Landing are the pages that were shown when the run's result was last proven on
	// its target; none = none were.
	Landing(ctx context.Context, run string) ([]work.PageShown, error)
}

// PagesOfLanding are those that were shown when a run's result was to land.
func (p Project) PagesOfLanding(ctx context.Context, run string) ([]work.PageShown, error) {
	if p.Pictures == nil {
		return nil, nil
	}
	return p.Pictures.Landing(ctx, run)
}

// ShowsPicture says that the last proof of a phase of the run, or the one of its
// landing, shows a picture of that name: by no other name is anything given out,
// since what is kept beside pictures is not for everybody.
func (p Project) ShowsPicture(ctx context.Context, st *orchestrator.State, name string) (bool, error) {
	if p.Pictures == nil {
		return false, nil
	}
	shown, err := p.Pictures.Landing(ctx, st.Run)
	if err != nil {
		return false, err
	}
	for _, n := range st.Order {
		shown = append(shown, st.View(n).Record.Pages...)
	}
	return slices.ContainsFunc(shown, func(page work.PageShown) bool { return slices.Contains(page.Pictures(), name) }), nil
}

// runPicture is one picture of a page that a proof of the run shows.
func (s *Server) runPicture(v *visit) error {
	st, err := v.Project.Runs.State(v.Context(), v.PathValue("run"))
	if err != nil {
		return err
	}
	name := v.PathValue("picture")
	shown, err := v.Project.ShowsPicture(v.Context(), st, name)
	if err != nil {
		return err
	}
	if !shown {
		return &Complaint{http.StatusNotFound, "No proof of this run shows such a picture.", "A later proof has pictures of its own."}
	}
	data, err := v.Project.Pictures.Picture(v.Context(), name)
	if err != nil {
		return err
	}
	h := v.W.Header()
	h.Set("Content-Type", "image/png")
	h.Set("Cache-Control", "private, max-age=86400, immutable") // its name is its content
	_, err = v.W.Write(data)
	return err
}

// shownPictures is what a page has of a proof's pictures.
type shownPictures struct {
	At    string // address of the run
	Phase string
	Lands bool // on the target as it would be, not after a phase
	Pages []work.PageShown
}

// PicturesOf are the pictures of a run's proofs, that of its landing last; none = there are none.
func (r runView) PicturesOf(base string) (out []shownPictures) {
	for _, p := range r.Proofs() {
		if len(p.Record.Pages) > 0 {
			out = append(out, shownPictures{At: base + "/runs/" + r.ID, Phase: p.Number, Pages: p.Record.Pages})
		}
	}
	if len(r.Landing) > 0 {
		out = append(out, shownPictures{At: base + "/runs/" + r.ID, Lands: true, Pages: r.Landing})
	}
	return out
}

// PicturesOf are those of the proofs that a question is about.
func (d cockpitData) PicturesOf() (out []shownPictures) {
	for _, n := range slices.Sorted(maps.Keys(d.Records)) {
		if pages := d.Records[n].Pages; len(pages) > 0 {
			out = append(out, shownPictures{At: d.Base + "/runs/" + d.Checkpoint.Run, Phase: n, Pages: pages})
		}
	}
	return out
}
