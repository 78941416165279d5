//go:build real

package web_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
	"forge/orchestrator"
)

// Pictures of pages are seen in a browser, which sends no token with them by itself.
func TestRealPicturesAreSeen(t *testing.T) {
	var still bytes.Buffer
	if err := png.Encode(&still, image.NewRGBA(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	n := strings.Repeat("a1", 32)
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}}, Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}}})
	if err != nil {
		t.Fatal(err)
	}
	st.Phases["01"].Record = work.VerifyFinishedData{On: work.OnSnapshot, OK: true, Pages: []work.PageShown{{URL: "http://localhost:1/", After: n, Before: n}}}.Of([]string{"x"})
	w.Site.Change("demo", func(p *web.Project) { p.Runs, p.Pictures = oneRun{st}, landed{kept: kept{n: still.String()}} })
	b := w.Browser()
	b.SignIn()
	b.GoTo("/p/demo/runs/r-1")
	b.Until(`document.querySelectorAll(".pictures img").length === 2 && [...document.querySelectorAll(".pictures img")].every(i => i.complete && i.naturalWidth === 40)`)
}
