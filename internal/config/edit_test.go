package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

func TestEditKeepsWhatItDoesNotTouch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, key, value, after string }{
		"a value":                 {"# mine\n[cost]\nrun_usd = 5 # enough\nday_usd=9\n", "cost.run_usd", "7.5", "# mine\n[cost]\nrun_usd = 7.5 # enough\nday_usd=9\n"},
		"a list over lines":       {"[verify]\ncommands = [\n  \"a\", # first\n]\nnone = false\n", "verify.commands", `["b"]`, "[verify]\ncommands = [\"b\"]\nnone = false\n"},
		"a new key":               {"[cost]\n  run_usd = 5 # enough\n\n# of agents\n[agent]\nuse = \"a\"\n", "cost.day_usd", "9.0", "[cost]\n  run_usd = 5 # enough\n  day_usd = 9.0\n\n# of agents\n[agent]\nuse = \"a\"\n"},
		"a new key, empty table":  {"[cost] # caps\n[agent]\n", "cost.day_usd", "9.0", "[cost] # caps\nday_usd = 9.0\n[agent]\n"},
		"a new table":             {"[agent]\nuse = \"a\"", "cost.day_usd", "9.0", "[agent]\nuse = \"a\"\n\n[cost]\nday_usd = 9.0\n"},
		"an empty file":           {"", "cost.day_usd", "9.0", "[cost]\nday_usd = 9.0\n"},
		"dotted":                  {"cost.run_usd = 5\nagent.use = \"a\"\n", "cost.day_usd", "9.0", "cost.run_usd = 5\ncost.day_usd = 9.0\nagent.use = \"a\"\n"},
		"beside a table below it": {"[cost.more]\nx = 1\n", "cost.day_usd", "9.0", "[cost.more]\nx = 1\n\n[cost]\nday_usd = 9.0\n"},
		"within an inline table":  {"cost = { run_usd = 5 } # caps\n", "cost.run_usd", "7.0", "cost = { run_usd = 7.0 } # caps\n"},
		"taken out":               {"[cost]\nrun_usd = 5\nday_usd = 9\n", "cost.run_usd", "", "[cost]\nday_usd = 9\n"},
		"taken out, its comment":  {"[cost]\n  run_usd = 5 # since March\nday_usd = 9\n", "cost.run_usd", "", "[cost]\n  # since March\nday_usd = 9\n"},
		"taken out at the end":    {"[cost]\nrun_usd = 5", "cost.run_usd", "", "[cost]\n"},
		"not there to take out":   {"[cost]\n", "cost.run_usd", "", "[cost]\n"},
		"lines of Windows":        {"[cost]\r\nrun_usd = 5\r\n", "cost.day_usd", "9.0", "[cost]\r\nrun_usd = 5\r\nday_usd = 9.0\r\n"},
	} {
		got, err := Edit(c.before, strings.Split(c.key, "."), c.value)
		if err != nil || got != c.after {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, got, c.after)
		}
	}
	for name, c := range map[string]struct{ before, key, value string }{
		"into an inline table":   {"cost = { run_usd = 5 }\n", "cost.day_usd", "9.0"},
		"out of an inline table": {"cost = { run_usd = 5 }\n", "cost.run_usd", ""},
		"into a list of tables":  {"[[cost]]\nx = 1\n", "cost.day_usd", "9.0"},
		"of a broken file":       {"[cost\n", "cost.day_usd", "9.0"},
		"by what is no literal":  {"[cost]\nrun_usd = 5\n", "cost.run_usd", "5]"},
	} {
		if got, err := Edit(c.before, strings.Split(c.key, "."), c.value); err == nil {
			t.Errorf("%s is done: %q", name, got)
		}
	}
}

func TestSaidAndLineIn(t *testing.T) {
	t.Parallel()
	text := "# x\n[verify]\ncommands = [\n  \"a\",\n] # y\nnone = true  # z\n"
	path := []string{"verify", "commands"}
	if got, ok := Said(text, path); !ok || got != "[\n  \"a\",\n]" {
		t.Errorf("%q %v", got, ok)
	}
	if got, ok := Said(text, []string{"verify", "none"}); !ok || got != "true" {
		t.Errorf("%q %v", got, ok)
	}
	if _, ok := Said(text, []string{"verify", "cold"}); ok {
		t.Error("says what it does not")
	}
	for line, want := range map[int]bool{2: false, 3: true, 4: true, 5: true, 6: false} {
		if got := LineIn(text, path, line); got != want {
			t.Errorf("line %d: %v", line, got)
		}
	}
}

// Whatever the file looks like: the change says what was asked, everything else is
// as the decoder read it before, and no line that it does not concern is another.
func TestEditLaws(t *testing.T) {
	t.Parallel()
	values := []string{"1", "2.5", `"x # y"`, "'a = b'", "[1, 2]", "[\n \"a\", # c\n]", "{ x = 1 }", "\"\"\"\nline\n\"\"\"", "true"}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		for _, table := range rapid.Permutation([]string{"", "a", "b", "a.c", "d"}).Draw(t, "tables")[:3] {
			if table == "" && b.Len() > 0 {
				continue // only the first may be without a header
			}
			if table != "" {
				fmt.Fprintf(&b, "[%s] # table%s", table, end)
			}
			for _, key := range rapid.Permutation([]string{"k", "l", "m.n", "d.k"}).Draw(t, "keys")[:rapid.IntRange(0, 4).Draw(t, "many")] {
				fmt.Fprintf(&b, "%s%s = %s%s%s", rapid.SampledFrom([]string{"", "  "}).Draw(t, "indent"), key,
					strings.ReplaceAll(rapid.SampledFrom(values).Draw(t, "value"), "\n", end), rapid.SampledFrom([]string{"", " # why"}).Draw(t, "comment"), end)
			}
		}
		checkEdit(t, strings.TrimSuffix(b.String(), rapid.SampledFrom([]string{"", end}).Draw(t, "cut")),
			rapid.SampledFrom([]string{"a.k", "b.l", "d.k", "a.c.k", "a.m.n"}).Draw(t, "path"), rapid.SampledFrom([]string{"7", `["z"]`, ""}).Draw(t, "new"))
	})
}

func FuzzEdit(f *testing.F) {
	f.Add("[a]\nk = 1 # x\n", "a.k", "7")
	f.Add("a.k = \"\"\"\n\"\"\"", "a.l", "")
	f.Add("a = { k = 1 }\n[b]", "b.l", "7")
	f.Fuzz(func(t *testing.T, text, path, value string) {
		if value != "7" && value != "" || !regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`).MatchString(path) {
			return // keys are those of the settings type
		}
		checkEdit(t, text, path, value)
	})
}

func checkEdit(t interface {
	Fatalf(format string, args ...any)
	Helper()
}, before, key, value string) {
	t.Helper()
	path := strings.Split(key, ".")
	after, err := Edit(before, path, value)
	if err != nil {
		return
	}
	want, got := map[string]any{}, map[string]any{}
	if _, err := toml.Decode(before, &want); err != nil {
		return // nothing holds of what could not be read
	}
	if _, err := toml.Decode(after, &got); err != nil {
		t.Fatalf("%q became unreadable: %q: %v", before, after, err)
	}
	assign(want, path, value)
	prune(want)
	prune(got)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s = %s in %q:\n%q says %v, want %v", key, value, before, after, got, want)
	}
	// What stands before and after the change is untouched.
	head, tail := 0, 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	if gone := before[head : len(before)-tail]; value != "" {
		if old, ok := Said(before, path); len(gone) > 0 && (!ok || !strings.Contains(old, gone)) {
			t.Fatalf("%s = %s took %q out of %q", key, value, gone, before)
		}
	}
	if strings.Count(after, "#") < strings.Count(before, "#")-strings.Count(saidOf(before, path), "#") {
		t.Fatalf("%s = %s lost a comment of %q: %q", key, value, before, after)
	}
}

func saidOf(text string, path []string) string {
	said, _ := Said(text, path)
	return said
}

// assign does to values what Edit does to a text.
func assign(in map[string]any, path []string, value string) {
	for _, name := range path[:len(path)-1] {
		below, ok := in[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			in[name] = below
		}
		in = below
	}
	last := path[len(path)-1]
	switch value {
	case "":
		delete(in, last)
	case "7":
		in[last] = int64(7)
	default:
		in[last] = []any{"z"}
	}
}

// prune takes out tables that say nothing: whether one is there makes no
// difference to a configuration.
func prune(in map[string]any) {
	for name, v := range in {
		if below, ok := v.(map[string]any); ok {
			if prune(below); len(below) == 0 {
				delete(in, name)
			}
		}
	}
}
