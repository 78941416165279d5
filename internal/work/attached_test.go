package work

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseAttached(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]Attached{
		"main.go":              {Path: "main.go"},
		"cmd/main.go:3":        {Path: "cmd/main.go", From: 3, To: 3},
		" main.go:3-8\n":       {Path: "main.go", From: 3, To: 8},
		"a:b.go:3-8":           {Path: "a:b.go", From: 3, To: 8},
		"notes: of today.md":   {Path: "notes: of today.md"},
		"notes:x-3":            {Path: "notes:x-3"},
		".forge/spec.md":       {Path: ".forge/spec.md"},
		".github/workflow.yml": {Path: ".github/workflow.yml"},
	} {
		got, err := ParseAttached(said)
		if err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", said, got, err, want)
		}
		if again, err := ParseAttached(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which is %+v, %v", said, got, again, err)
		}
	}
	for _, said := range []string{
		"", " ", ".", "..", "/etc/passwd", "../outside", "a/../../outside", "a//b", "a/", `a\b`, ".git/config", "sub/.GIT/config", "a\x00b", "a\nb",
		"main.go:0", "main.go:8-3", "main.go:3-99999999", ":3", strings.Repeat("a", 301),
	} {
		if got, err := ParseAttached(said); err == nil {
			t.Errorf("%q is %+v", said, got)
		}
	}
}

func TestCheckAttached(t *testing.T) {
	t.Parallel()
	lines := Attached{Path: "main.go", From: 1, To: 2, Text: "a\nb\n"}
	several := func(n int) []Attached {
		var all []Attached
		for range n {
			all = append(all, lines)
		}
		return all
	}
	file := func(text string) []Attached { return []Attached{{Path: "a.txt", Text: text}} }
	for name, c := range map[string]struct {
		all  []Attached
		want string // "" = they go
	}{
		"none":               {nil, ""},
		"as many as go":      {several(MaxAttached), ""},
		"one more":           {several(MaxAttached + 1), "at most 8"},
		"as long as goes":    {file(strings.Repeat("a", MaxAttachedBytes-attachedKeys-len("a.txt"))), ""},
		"one byte more":      {file(strings.Repeat("a", MaxAttachedBytes-attachedKeys-len("a.txt")+1)), "together"},
		"long once written":  {file(strings.Repeat(`"`, MaxAttachedBytes/2)), "together"},
		"not text":           {file("a\x00b"), "no text"},
		"not in Unicode":     {file("a\xffb"), "no text"},
		"nothing":            {file(" \u200b\n"), "nothing in it"},
		"outside":            {[]Attached{{Path: "../a", Text: "a"}}, "below the project's folder"},
		"lines of no number": {[]Attached{{Path: "a", From: -1, Text: "a"}}, "counted from 1"},
	} {
		err := CheckAttached(c.all)
		switch {
		case err == nil && c.want != "":
			t.Errorf("%s: they go", name)
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A journal of before there was anything that goes with a message reads as one
// without it, and is written as it was.
func TestAMessageOfBeforeIsWrittenAsItWas(t *testing.T) {
	t.Parallel()
	old := `{"id":"m1","phase":"01","text":"use tabs"}`
	var m Message
	if err := json.Unmarshal([]byte(old), &m); err != nil {
		t.Fatal(err)
	}
	if now, err := json.Marshal(m); err != nil || string(now) != old {
		t.Errorf("%s, %v", now, err)
	}
}

func FuzzParseAttached(f *testing.F) {
	for _, s := range []string{"main.go", "a:b:3-8", ":1", "a:0", "../x:1", "a:1-", "a:-1", "ä:10000000", ".git/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAttached(s)
		if err != nil {
			return
		}
		again, err := ParseAttached(a.String())
		if err != nil || again != a {
			t.Errorf("%q is %+v, and again %+v, %v", s, a, again, err)
		}
		if strings.HasPrefix(a.Path, "/") || strings.Contains("/"+a.Path+"/", "/../") || a.From < 0 || a.To < a.From {
			t.Errorf("%q leads to %+v", s, a)
		}
	})
}
