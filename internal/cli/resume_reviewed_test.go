package cli

import (
	"strings"
	"testing"

	"forge/internal/fakemodel"
	"forge/internal/planrun"
)

// A run that is reviewed by a model of the project's [llm], whose forge.toml
// breaks while it waits: nobody reviews, so nothing goes on and nothing is lost
// until the file can be read again.
func TestResumeWithABrokenReviewer(t *testing.T) {
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address := s.Service("svc", fakemodel.Service{Models: []string{"m"}, Turns: []fakemodel.Turn{{Text: evalPass, Repeat: -1}}})
	w := newWorld(t, done("01"))
	reviewed := "[llm]\nbase_url = \"" + address + "\"\nmodel = \"m\"\n[reviews]\nenabled = true\n"
	w.configure(reviewed, "true")
	w.plan(phase("01", "first", 2))
	w.forge("run").want(exitFrozen)
	w.forge("approve", ".1").want(exitDone)

	w.configure(reviewed+"[autonomy\n", "true")
	for _, args := range [][]string{{"resume"}, {"resume", "--level", "full"}} {
		got := w.forge(args...).want(exitUsage).warns("not used, since it is broken", "reviewed by the model m, whose service nobody can read", ".forge/forge.toml:", "correct it")
		if strings.Contains(got.stdout, "frozen") {
			t.Errorf("the run went on:\n%s", got.stdout)
		}
	}
	w.forge("status").want(exitDone).says("Answered: ", "approved by tester")
	w.configure(reviewed, "true")
	w.forge("resume").want(exitFrozen).says("Land the result")
	w.forge("why").want(exitDone).says("review by security (gates): pass")
	// Nobody reviews any more: then it can land whatever the file says.
	w.configure(reviewed+"[autonomy\n", "true")
	w.forge("approve", ".2", "--resume").want(exitDone)
	if !w.exists("out-01.txt") {
		t.Error("the result did not land")
	}
}

// A project of jobs alone has no plan, and nothing is wrong with that.
func TestValidateWithoutAPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"))
	w.forge("config", "validate").want(exitDone).says("ok").warns("there is no plan: forge run needs one, a job does not")
	var got planrun.Validation
	w.forge("config", "validate", "--output", "json").want(exitDone).json(&got)
	if !got.OK || len(got.Warnings) != 1 {
		t.Errorf("got %+v", got)
	}
	// What a job would not begin with is a problem all the same.
	w.write(".forge/forge.toml", "[agent]\nuse = \"nobody\"\n")
	w.forge("config", "validate").want(exitUsage).warns(`unknown agent "nobody"`)
	w.write(".forge/forge.toml", "")
	w.write(".forge/phases.json", "{")
	w.forge("config", "validate").want(exitUsage).warns("phases.json")
}
