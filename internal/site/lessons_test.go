package site

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/project/projecttest"
	"forge/internal/taught"
	"forge/internal/work"
	"forge/internal/worker"
)

// What is kept is shown with its source and by whom, and unlearned by its id alone;
// of a run that is not there nothing is proposed or kept.
func TestLessonsOfAProject(t *testing.T) {
	env := projecttest.New(t, "", "")
	w, err := worker.Open(t.Context(), env, env.Dir, factory.NewConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	v := newView(w.Checkout)
	on := teaching{v.p, &v.lessons}
	ctx := t.Context()

	if got, err := on.Proposed(ctx, ""); err != nil || got.Run != "" || len(got.Lessons) != 0 {
		t.Errorf("without a run %+v is proposed, %v", got, err)
	}
	if _, err := on.Proposed(ctx, "nope"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a run that is not there: %v", err)
	}
	if err := on.Keep(ctx, "nope", "1a2b3c4d", "ann"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kept of a run that is not there: %v", err)
	}

	first := work.Lesson{Text: "Tests want TZ=UTC.", Run: "r1", Phase: "01", Agent: "claude"}
	second := work.Lesson{Text: "Run make gen first.", File: "Makefile"}
	if _, err := taught.KeepBy(v.p, "ann", first, second); err != nil {
		t.Fatal(err)
	}
	kept, err := on.Kept(ctx)
	if err != nil || len(kept) != 2 || kept[0].Run != "r1" || kept[0].Phase != "01" || kept[0].Kept != "ann" || !kept[1].Gone || !kept[1].IsKept {
		t.Fatalf("kept is %+v, %v", kept, err)
	}
	var none *pages.Complaint
	for _, id := range []string{"", "zz", first.ID()[:3]} {
		if err := on.Unlearn(ctx, id); !errors.As(err, &none) || none.Status != http.StatusNotFound {
			t.Errorf("unlearned by %q: %v", id, err)
		}
	}
	if err := on.Unlearn(ctx, first.ID()); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(v.p.Base.RepoRoot, ".forge", "lessons.md"))
	if err != nil || strings.Contains(string(body), "TZ=UTC") || !strings.Contains(string(body), "make gen") {
		t.Errorf("%v: the file says\n%s", err, body)
	}
}
