package config

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

func TestPages(t *testing.T) {
	cfg, _, err := load(t, `[[proof.pages]]
url = "http://localhost:3000/a?b=1"
start = "npm start"
wait = "#app"
viewport = "390x844"
steps = ["type \"#form input\" Ann Lee", "click #save", "press Enter", "wait .done p"]
timeout_secs = 90
errors = "say"
[[proof.pages]]
url = "http://127.0.0.1:81/"
start = "python3 -m http.server 81"
`)
	if err != nil {
		t.Fatal(err)
	}
	got := pageSettings(cfg.File.Proof.Pages)
	want := []work.PageSettings{
		{URL: "http://localhost:3000/a?b=1", Start: "npm start", Wait: "#app", Width: 390, Height: 844, Secs: 90, Say: true, Steps: []work.PageStep{
			{Do: work.PageType, On: "#form input", Text: "Ann Lee"}, {Do: work.PageClick, On: "#save"},
			{Do: work.PagePress, On: "Enter"}, {Do: work.PageWait, On: ".done p"},
		}},
		{URL: "http://127.0.0.1:81/", Start: "python3 -m http.server 81", Width: 1280, Height: 800, Secs: 60},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestPagesThatAreNone(t *testing.T) {
	const good = "[[proof.pages]]\nurl = \"http://localhost:1/\"\nstart = \"x\"\n"
	for text, want := range map[string]string{
		"[[proof.pages]]\nstart = \"x\"\n":                                    "has no url",
		"[[proof.pages]]\nurl = \"http://localhost:1/\"\n":                    "has no start",
		strings.Replace(good, "localhost", "example.com", 1):                  "not on this machine",
		strings.Replace(good, "localhost", "10.0.0.1", 1):                     "not on this machine",
		strings.Replace(good, "http://localhost:1/", "file:///etc/passwd", 1): "no address",
		strings.Replace(good, "localhost:1", "localhost", 1):                  "names no port",
		strings.Replace(good, "http://", "http://a:b@", 1):                    "no address",
		good + "viewport = \"wide\"\n":                                        "no size of a window",
		good + "viewport = \"9000x9000\"\n":                                   "no size of a window",
		good + "steps = [\"click #a\", \"hover #b\"]\n":                       `step 2 begins with "hover"`,
		good + "steps = [\"press Any\"]\n":                                    `step 1 knows no key "Any"`,
		good + "steps = [\"click\"]\n":                                        "step 1 names no element",
		good + "steps = [\"type \\\"#a b\"]\n":                                "step 1 has a selector whose quotes do not end",
		good + "steps = [" + strings.Repeat(`"wait a",`, 13) + "]\n":          "has 13 steps",
		good + "errors = \"hide\"\n":                                          "errors",
		good + "timeout_secs = 0\n":                                           "timeout_secs",
		strings.Repeat(good, work.MostPages+1):                                "one page too many",
	} {
		_, _, err := load(t, text)
		var problems *Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
}

// Without a sandbox nothing keeps a page from the network.
func TestPagesWithoutASandbox(t *testing.T) {
	user := filepath.Join(t.TempDir(), "config.toml")
	write(t, user, "[sandbox]\nmode = \"off\"\n")
	text := "[[proof.pages]]\nurl = \"http://localhost:1/\"\nstart = \"x\"\n"
	_, _, err := Load(Sources{ProjectDir: project(t, map[string]string{ProjectFile: text}), UserFile: user})
	if err == nil || !strings.Contains(err.Error(), "nothing would keep them from the network") {
		t.Errorf("%v", err)
	}
}

// A phase that nothing proves would show no page, and say nothing of it.
func TestPagesOfAPhaseWithoutCommands(t *testing.T) {
	page := "[[proof.pages]]\nurl = \"http://localhost:1/\"\nstart = \"x\"\n"
	if _, err := triedPlan(t, page, "01", ""); err == nil || !strings.Contains(err.Error(), "no page shown") {
		t.Errorf("%v", err)
	}
	if _, err := triedPlan(t, page+proven, "01", ""); err != nil {
		t.Error(err)
	}
}

// A step is the same again when it is written down and read.
func FuzzParsePageStep(f *testing.F) {
	for _, s := range []string{"click #save", `type "#a b" x`, "type #name Ann", "press Tab", "wait p > b", "type \"", "", "click "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s, err := work.ParsePageStep(line)
		if err != nil {
			return
		}
		again, err := work.ParsePageStep(s.String())
		if err != nil || again != s {
			t.Fatalf("%q is %+v, and %q is %+v, %v", line, s, s, again, err)
		}
	})
}
