package cli

import (
	"strings"
	"testing"

	"forge/internal/fakemodel"
	"forge/internal/llm"
	"forge/internal/pace"
	"forge/internal/report"
	"forge/review"
)

const testKey = "sk-key-of-the-test"

// service starts a model that wants testKey and has "m-large" and "m-wise".
func service(t *testing.T) (s *fakemodel.Server, address string) {
	t.Helper()
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, s.Service("svc", fakemodel.Service{Key: testKey, Models: []string{"m-large", "m-wise"}, Turns: []fakemodel.Turn{{Text: "well", Repeat: -1}}})
}

// llmTOML turns reviews by a model on.
func llmTOML(address, model string) string {
	return "[reviews]\nenabled = true\n[llm]\nbase_url = \"" + address + "\"\nmodel = \"" + model + "\"\napi_key_env = \"TEST_API_KEY\"\n"
}

// missing are the ways in which a reviewer cannot be asked.
func missing(t *testing.T) map[string]struct{ toml, key, says, fix string } {
	s, address := service(t)
	closed, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.Service("svc", fakemodel.Service{})
	closed.Close()
	down := s.Service("down", fakemodel.Service{Turns: []fakemodel.Turn{{Fault: fakemodel.Fault{Status: 418, Message: "I am a teapot"}, Repeat: -1}}})
	return map[string]struct{ toml, key, says, fix string }{
		"missing key":     {llmTOML(address, "m-large"), "", "the key is missing: TEST_API_KEY is not set", "set TEST_API_KEY in the environment"},
		"wrong key":       {llmTOML(address, "m-large"), "sk-another-key", "Incorrect API key provided: [redacted]", "check the key in TEST_API_KEY"},
		"unknown model":   {llmTOML(address, "m-lrage"), testKey, `The model "m-lrage" does not exist`, "write a model that the service has"},
		"unknown arbiter": {llmTOML(address, "m-large") + "roles = { arbiter = \"m-wisdom\" }\n", testKey, "m-wisdom", "write a model that the service has"},
		"nobody there":    {llmTOML(gone, "m-large"), testKey, "connection refused", "check llm.base_url and that the service runs"},
		"wrong path":      {llmTOML(address+"x", "m-large"), testKey, "404", "check llm.base_url; most end in /v1"},
		"other service":   {llmTOML(down, "m-large"), testKey, "418: I am a teapot", ""},
	}
}

// unheard says why one of the ways takes longer than the others.
func unheard(t *testing.T, name string) {
	if name == "nobody there" {
		pace.Slow(t, "a service that does not listen is asked again, with pauses")
	}
}

func TestDoctorAsksTheModel(t *testing.T) {
	for name, tc := range missing(t) {
		t.Run(name, func(t *testing.T) {
			unheard(t, name)
			t.Parallel()
			w := newWorld(t, done("01"))
			w.configure(tc.toml)
			w.plan(phase("01", "one", 1))
			w.env = append(w.env, "TEST_API_KEY="+tc.key)
			e := w.forge("doctor").want(exitUsage).says("✗ model ", tc.says, tc.fix)
			if strings.Contains(e.stdout+e.stderr, "sk-") {
				t.Errorf("the key is shown:\n%s%s", e.stdout, e.stderr)
			}
		})
	}
	s, address := service(t)
	w := newWorld(t, done("01"))
	w.configure(llmTOML(address, "m-large") + "roles = { arbiter = \"m-wise\" }\n")
	w.plan(phase("01", "one", 1))
	w.env = append(w.env, "TEST_API_KEY="+testKey)
	w.forge("doctor").want(exitDone).says("✓ model m-large at 127.0.0.1:", "✓ model m-wise at 127.0.0.1:", "! the model has no price")
	if got := len(s.Requests("svc")); got != 2 {
		t.Errorf("%d requests, want one for each model", got)
	}
}

// A run whose reviewer cannot be asked is refused before anything begins.
func TestRunAsksTheReviewerFirst(t *testing.T) {
	for name, tc := range missing(t) {
		t.Run(name, func(t *testing.T) {
			unheard(t, name)
			t.Parallel()
			w := newWorld(t, done("01"))
			w.configure(tc.toml)
			w.plan(phase("01", "one", 1))
			w.env = append(w.env, "TEST_API_KEY="+tc.key)
			e := w.forge("run", "--autonomous").want(exitUsage).warns("the model that reviews cannot be asked: ", tc.says, tc.fix)
			if strings.Contains(e.stdout+e.stderr, "sk-") {
				t.Errorf("the key is shown:\n%s%s", e.stdout, e.stderr)
			}
			if e := w.forge("status"); !strings.Contains(e.stderr, "has no runs") {
				t.Errorf("a run was opened:\n%s%s", e.stdout, e.stderr)
			}
		})
	}
}

// What no phase needs is not asked for.
func TestAnUnreviewedRunAsksNobody(t *testing.T) {
	s, address := service(t)
	w := newWorld(t, done("01"))
	w.configure("[llm]\nbase_url = \"" + address + "\"\nmodel = \"m-large\"\n")
	w.plan(phase("01", "one", 1))
	w.forge("run", "--autonomous").want(exitDone)
	if got := s.Requests("svc"); len(got) > 0 {
		t.Errorf("the model was asked: %s", got[0].Body)
	}
}

// A service that limits at the moment holds no run up; a resumed run asks
// again.
func TestALimitedReviewer(t *testing.T) {
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	limited := []fakemodel.Turn{{Fault: fakemodel.Fault{Status: 429, Headers: map[string]string{"Retry-After": "3600"}}, Repeat: -1}}
	address := s.Service("svc", fakemodel.Service{Turns: limited})
	w := newWorld(t, "[[step]]\nphase = \"01\"\ndo = [{print = \"nothing yet\"}]\n")
	w.configure("[reviews]\nenabled = true\n[llm]\nbase_url = \"" + address + "\"\nmodel = \"m-large\"\n")
	w.plan(phase("01", "one", 1))
	w.forge("run", "--autonomous").want(exitFailed).warns("is limited at the moment")
	if got := len(s.Requests("svc")); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
	s.Service("svc", fakemodel.Service{Models: []string{"another"}})
	w.forge("resume", "--budget", "01=2").want(exitUsage).warns("the model that reviews cannot be asked", `"m-large" does not exist`)
	w.configure("[reviews]\nenabled = true\n")
	w.forge("resume", "--budget", "01=2").want(exitUsage).warns("reviewed by the model m-large, and [llm] names no service")
}

func TestListShowsWhoReviews(t *testing.T) {
	w := newWorld(t, done("01"))
	w.configure("[reviews]\nagent = \"dry\"\n[autonomy.sensitive_patterns]\npatterns = [\"db-*\"]\n")
	own := phase("02", "two", 1)
	own.Reviews = []string{"performance", "security"}
	w.plan(phase("01", "db-one", 1), own, phase("03", "DB-three", 1))
	e := w.forge("list").want(exitDone).says("sensitive (db-*)",
		"Reviewed by the agent dry (* holds the phase):\n  01: security*, architecture*, performance*, simplicity*\n  02: security*, performance\n")
	if strings.Contains(e.stderr, "will refuse") {
		t.Errorf("it warns although there is a reviewer:\n%s", e.stderr)
	}
	var got struct {
		Policy string                `json:"policy"`
		By     string                `json:"reviewed_by"`
		Phases []report.PlannedPhase `json:"phases"`
	}
	w.forge("list", "--output", "json").want(exitDone).json(&got)
	if got.By != "agent:dry" || !got.Phases[0].Sensitive || got.Phases[0].Why != "db-*" || got.Phases[0].MaxFixes != 4 || len(got.Phases[0].Reviewers) != 4 {
		t.Errorf("got %+v", got)
	}
	if p := got.Phases[2]; p.Sensitive || p.Reviews || p.Reviewers != nil {
		t.Errorf("phase 03: %+v", p)
	}
	w.configure("")
	w.forge("list").want(exitDone).warns("forge run will refuse").says("Reviewed by nobody (* holds the phase):")
	w.forge("run", "--autonomous").want(exitUsage).warns("no reviewer can be asked", "set [llm] base_url and model, or reviews.agent")
}

// What reviewers are asked for is what the client can hold a model to.
func TestTheSchemasOfReviewsCanBeAskedFor(t *testing.T) {
	for _, ask := range []bool{true, false} {
		if _, err := llm.ParseSchema(review.Schema(ask)); err != nil {
			t.Errorf("surroundings %v: %v", ask, err)
		}
	}
}
