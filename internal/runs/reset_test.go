package runs

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	charm "charm.land/log/v2"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
)

// with is a project whose state folder holds a journal and these folders.
func with(t *testing.T, folders ...string) *project.Checkout {
	t.Helper()
	home := t.TempDir()
	env := project.Env{Log: charm.New(io.Discard), Now: time.Now, Environ: []string{"HOME=" + home, "FORGE_STATE_DIR=" + filepath.Join(home, "state")}}
	p := &project.Checkout{Env: env, State: filepath.Join(home, "state"), Base: work.Base{RepoRoot: filepath.Join(home, "demo")}}
	if _, err := p.OpenStore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	for _, name := range folders {
		if err := os.MkdirAll(filepath.Join(p.State, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// All that Forge keeps in a state folder goes with it; what is somebody else's
// lets nothing go.
func TestLeftoversAreForges(t *testing.T) {
	t.Parallel()
	p := with(t, "runs", "cache", "reviews", "eval", "drafts", "news", "pulls", "locks", "draft-0123456789ab.json", "server")
	left, err := FindLeftovers(t.Context(), p, false)
	if err != nil {
		t.Fatal(err)
	}
	if left.Name != "demo" || left.Server != filepath.Join(p.State, "server") {
		t.Errorf("it names %q and the server's folder %q", left.Name, left.Server)
	}
	aside, err := left.PutAside()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(aside, "news")); err != nil {
		t.Error(err)
	}
	p = with(t, "photos")
	if _, err := FindLeftovers(t.Context(), p, false); err == nil || !strings.Contains(err.Error(), `"photos"`) {
		t.Errorf("a folder of somebody's: %v", err)
	}
}

// Nothing goes while a run is being driven, and a project without runs has
// nothing to lose.
func TestLeftoversOfADrivenRun(t *testing.T) {
	t.Parallel()
	p := with(t)
	if _, err := p.Journal.CreateRun(t.Context(), "run", journal.Self()); err != nil {
		t.Fatal(err)
	}
	if _, err := FindLeftovers(t.Context(), p, true); err == nil || !strings.Contains(err.Error(), "run run is being driven") {
		t.Errorf("a run that is being driven: %v", err)
	}
	none := &project.Checkout{Env: p.Env, State: filepath.Join(t.TempDir(), "none")}
	if left, err := FindLeftovers(t.Context(), none, false); left != nil || err != nil {
		t.Errorf("where there is nothing: %+v, %v", left, err)
	}
}
