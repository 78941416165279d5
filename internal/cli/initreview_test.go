package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/fakemodel"
)

// Reviews are on in a new project where a reviewer answers, and nowhere else;
// what init writes is what run understands.
func TestInitTurnsReviewsOn(t *testing.T) {
	const claude = `case "$*" in --version) echo "9.9.9 (fake)" ;; "auth status") echo '{"loggedIn":%s}' ;; *) exit 1 ;; esac` + "\n"
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address := s.Service("svc", fakemodel.Service{Models: []string{"m"}, Turns: []fakemodel.Turn{{Text: "well", Repeat: -1}}})
	llm := func(model string) string { return "[llm]\nbase_url = \"" + address + "\"\nmodel = \"" + model + "\"\n" }
	yes, no := strings.ReplaceAll(claude, "%s", "true"), strings.ReplaceAll(claude, "%s", "false")
	t.Run("group", func(t *testing.T) {
		for name, tt := range map[string]struct {
			claude, user string
			args         []string
			says, list   string // list: what forge list says of it, "" = nothing
		}{
			"an agent":                    {yes, "", nil, "Reviews  ✓ each phase is reviewed by the agent claude, without the right to change anything", "Reviewed by the agent claude (*"},
			"nobody logged in":            {no, "", nil, "Reviews    off: there is no model in [llm], and no agent", ""},
			"nobody":                      {"exit 1\n", "", nil, "Reviews    off", ""},
			"a command of one's own":      {"exit 1\n", "", []string{"--agent", "exec"}, "Reviews    off", ""},
			"a model":                     {no, llm("m"), nil, "Reviews  ✓ each phase is reviewed by the model m", "Reviewed by the model m; arbiter"},
			"a model, before the agent":   {yes, llm("m"), nil, "Reviews  ✓ each phase is reviewed by the model m", "Reviewed by the model m; arbiter"},
			"a model that is not there":   {yes, llm("x"), nil, "Reviews  ✗ off: the model x does not answer", ""},
			"a model that is not asked":   {no, llm("m"), []string{"--no-try"}, "Reviews  ✗ off: the model m was not asked", ""},
			"the user has said something": {yes, "[reviews]\nenabled = false\n", nil, "", ""},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newBare(t, nil)
				w.program("claude", tt.claude)
				w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n"+tt.user)
				got := w.forge(append([]string{"init"}, tt.args...)...).want(exitDone)
				if tt.says != "" {
					got.says(tt.says)
				}
				if on := strings.Contains("\n"+w.read(".forge/forge.toml"), "\n[reviews]\nenabled = true\n"); on != (tt.list != "") {
					t.Errorf("reviews are on: %v\n%s", on, w.read(".forge/forge.toml"))
				}
				got = w.forge("list").want(exitDone)
				if tt.list != "" {
					got.says(tt.list)
				} else if strings.Contains(got.stdout, "Reviewed by") {
					t.Errorf("forge list says\n%s", got.stdout)
				}
			})
		}
	})
}
