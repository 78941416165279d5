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
}

// NamesPicture says that the last proof of a phase of the run shows a picture of that
// name: by no other name is anything given out, since what is kept beside pictures
// is not for everybody.
func NamesPicture(st *orchestrator.State, name string) bool {
	for _, p := range st.Phases {
		for _, page := range p.Record.Pages {
			if slices.Contains(page.Pictures(), name) {
				return true
			}
		}
	}
	return false
}

// runPicture is one picture of a page that a proof of the run shows.
func (s *Server) runPicture(v *visit) error {
	st, err := v.Project.Runs.State(v.Context(), v.PathValue("run"))
	if err != nil {
		return err
	}
	name := v.PathValue("picture")
	if v.Project.Pictures == nil || !NamesPicture(st, name) {
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
	Pages []work.PageShown
}

// PicturesOf are the pictures of a run's proofs; none = there are none.
func (r runView) PicturesOf(base string) (out []shownPictures) {
	for _, p := range r.Proofs() {
		if len(p.Record.Pages) > 0 {
			out = append(out, shownPictures{At: base + "/runs/" + r.ID, Phase: p.Number, Pages: p.Record.Pages})
		}
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
