package jobs

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"forge/internal/config"
	"forge/internal/effect"
	"forge/internal/redact"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/todos"
	"forge/internal/work"
	"forge/orchestrator"
)

func TestDocumentName(t *testing.T) {
	taken := map[string]bool{}
	for name, want := range map[string]string{
		"plan.md": "plan.md", "a b,c.TXT": "a-b-c.TXT", "..": "document", ".env": "env", "x\x00y\n.md": "x-y-.md", "über.pdf": "über.pdf",
		strings.Repeat("x", 300) + ".md": strings.Repeat("x", 80) + ".md", "--help": "help", "a/b": "a-b", "\xff": "document",
	} {
		if got := documentName(name, taken); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	twice := map[string]int{"Plan.md": 1, "plan-2.MD": 1}
	if got := documentName("plan.md", twice); got != "plan-3.md" {
		t.Errorf("a name that is taken: %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := documentName(rapid.String().Draw(t, "name"), taken)
		if name == "" || len(name) > 120 || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") {
			t.Fatalf("%q", name)
		}
		for _, r := range name {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r) {
				t.Fatalf("%q holds %q", name, r)
			}
		}
	})
}

// A shell reads back what was written.
func TestShellWord(t *testing.T) {
	for _, w := range []string{"", "plain", "two words", "it's", "$HOME", "`id`", "a\nb", "*", "~", "--x=y", "\\", "\"", "#x", "!", "ü"} {
		out, err := exec.Command("sh", "-c", "printf %s "+text.ShellWord(w)).Output()
		if err != nil || string(out) != w {
			t.Errorf("%q comes back as %q, %v", w, out, err)
		}
	}
}

func TestStartCommitHoldsNoSecrets(t *testing.T) {
	b := &Brief{
		spec: orchestrator.Spec{Job: &work.Job{Description: "Use sesame-open. <!-- and hidden -->", Phase: work.PhaseSettings{Verify: []string{"curl -H sesame-open"}}}},
		sources: []config.Source{
			{Name: "a", Kind: config.SourceHTTP, URL: "https://example.invalid/sesame-open"},
			{Name: "b", Kind: config.SourceCommand, Command: []string{"x", "sesame-open"}, About: "sesame-open"},
		},
		documents: map[string][]byte{"mine.txt": []byte("sesame-open")},
	}
	files := b.files(redact.New([]string{"sesame-open"}))
	for name, text := range files {
		if name == "forge-job/documents/mine.txt" {
			if string(text) != "sesame-open" {
				t.Error("a document was changed")
			}
			continue
		}
		if strings.Contains(string(text), "sesame") || strings.Contains(string(text), "hidden") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if len(files) != 7 {
		t.Errorf("%d files", len(files))
	}
	if text := string(files["forge-job/tools/data-a.md"]); !strings.Contains(text, "cannot be reached") {
		t.Errorf("without a network: %s", text)
	}
}

// The example that agents are given is read without a complaint.
func TestTodosExampleIsSound(t *testing.T) {
	_, example, _ := strings.Cut(toolsTodos, "\n\n    ")
	example, _, _ = strings.Cut(example, "\n\n- title")
	list := todos.Parse([]byte(strings.ReplaceAll(example, "\n    ", "\n")))
	if len(list.Problems) > 0 || len(list.Todos) != 2 {
		t.Errorf("%+v\n%s", list, example)
	}
}

var _ effect.Todos = runs.Todos{}

func TestCleanDescription(t *testing.T) {
	if got, err := CleanDescription(" a \x00b\xff\n"); err != nil || got != "a b\uFFFD" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", " \n", "\x00", strings.Repeat("x", MaxDescription+1)} {
		if _, err := CleanDescription(bad); err == nil {
			t.Errorf("%.20q went through", bad)
		}
	}
}

// Documents keep their bounds whichever way they came, and none takes the name of
// another.
func TestNamed(t *testing.T) {
	got, err := named([]Document{{Name: "a b.md", Data: []byte("1")}, {Name: "A-B.md", Data: []byte("2")}})
	if err != nil || len(got) != 2 || string(got["a-b.md"]) != "1" || string(got["A-B-2.md"]) != "2" {
		t.Errorf("got %q: %v", got, err)
	}
	many := make([]Document, MaxDocuments+1)
	for n := range many {
		many[n].Name = "x"
	}
	if _, err := named(many); err == nil {
		t.Errorf("%d documents went through", len(many))
	}
	if _, err := named([]Document{{Name: "x", Data: make([]byte, MaxDocumentBytes+1)}}); err == nil {
		t.Error("a document that is too large went through")
	}
	large := make([]byte, MaxDocumentBytes)
	if _, err := named([]Document{{"a", large}, {"b", large}, {"c", large}, {"d", large}, {"e", []byte("x")}}); err == nil {
		t.Error("documents that are too large together went through")
	}
}
