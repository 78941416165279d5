package diff

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
	"forge/review"
)

var tag = regexp.MustCompile(`<[^>]*>`)

// textOf is what a person reads of a cell.
func textOf(c *Cell) string { return html.UnescapeString(tag.ReplaceAllString(string(c.HTML), "")) }

// TestNoLineIsLost is the law of the view: whatever the change, both sides show
// exactly their lines with their numbers, in both ways of looking.
func TestNoLineIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var old, fresh, body []string
		text := rapid.StringMatching(`[a-c <>&"']{0,12}`)
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			mark, l := rapid.SampledFrom([]string{" ", "+", "-"}).Draw(t, "mark"), text.Draw(t, "text")
			if mark != "+" {
				old = append(old, l)
			}
			if mark != "-" {
				fresh = append(fresh, l)
			}
			body = append(body, mark+l+"\n")
		}
		f := review.File{Path: "a.go", Status: review.Modified, Hunks: []review.Hunk{{
			OldStart: 1, OldLines: len(old), NewStart: 1, NewLines: len(fresh), Body: []byte(strings.Join(body, "")),
		}}}
		v := Render(&f, []byte(strings.Join(old, "\n")), []byte(strings.Join(fresh, "\n")))
		for name, rows := range map[string][]Row{"side by side": v.Hunks[0].Rows, "inline": v.Hunks[0].Flat()} {
			var left, right []string
			for _, r := range rows {
				if r.Old != nil && (r.New == nil || name == "side by side" || !r.Changed()) {
					left = append(left, textOf(r.Old))
					if r.Old.Line != len(left) {
						t.Fatalf("%s: old line %d is numbered %d", name, len(left), r.Old.Line)
					}
				}
				if r.New != nil {
					right = append(right, textOf(r.New))
					if r.New.Line != len(right) {
						t.Fatalf("%s: new line %d is numbered %d", name, len(right), r.New.Line)
					}
				}
			}
			if !slices.Equal(left, old) || !slices.Equal(right, fresh) {
				t.Fatalf("%s: old %q want %q, new %q want %q", name, left, old, right, fresh)
			}
		}
	})
}

func file(path, body string) review.File {
	f := review.File{Path: path, Status: review.Modified, OldMode: "100644", NewMode: "100644"}
	h := review.Hunk{OldStart: 1, NewStart: 1, Body: []byte(body)}
	for _, l := range linesOf(h.Body) {
		if l.mark != '+' {
			h.OldLines++
		}
		if l.mark != '-' {
			h.NewLines++
		}
	}
	f.Hunks = []review.Hunk{h}
	return f
}

func TestRenderColoursAndMarks(t *testing.T) {
	f := file("main.go", " package main\n-var a = \"one\" // x\n+var a = \"two\" // x\n")
	v := Render(&f, []byte("package main\nvar a = \"one\" // x\n"), []byte("package main\nvar a = \"two\" // x\n"))
	if !v.Coloured || v.Added != 1 || v.Removed != 1 || v.Note != "" {
		t.Fatalf("got %+v", v)
	}
	row := v.Hunks[0].Rows[1]
	for _, want := range []string{`<span class="tk">var</span>`, `<mark>`, `<span class="tc">// x</span>`} {
		if !strings.Contains(string(row.New.HTML), want) {
			t.Errorf("%q is not in %s", want, row.New.HTML)
		}
	}
	if !strings.Contains(string(row.Old.HTML), "on") || strings.Contains(string(row.Old.HTML), "style=") {
		t.Errorf("old side: %s", row.Old.HTML)
	}
	// A content that is not the patch's own colours nothing and changes nothing.
	v = Render(&f, nil, []byte("package other\nvar b = 1\n"))
	if got := textOf(v.Hunks[0].Rows[1].New); got != `var a = "two" // x` {
		t.Errorf("another content changed the line to %q", got)
	}
}

func TestWhatCannotBeSeenIsShown(t *testing.T) {
	f := file("a.go", "+if a \u202e{ /* \u200b */ \x1b[31m \xff <script>alert(1)</script>\n")
	got := string(Render(&f, nil, nil).Hunks[0].Rows[0].New.HTML)
	for _, want := range []string{"U+202E", "U+200B", "U+001B", `\xff`, "&lt;script&gt;"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if strings.ContainsAny(got, "\u202e\u200b\x1b") || strings.Contains(got, "\xff") || strings.Contains(got, "<script") {
		t.Errorf("it is still in %s", got)
	}
}

func TestNotesSayWhatIsMissing(t *testing.T) {
	for name, f := range map[string]review.File{
		"binary": {Path: "a", Binary: true}, "too large": {Path: "a", Cut: true}, "No line": {Path: "b", OldPath: "a", Status: review.Renamed},
		"first 4000 lines": file("a", strings.Repeat("+x\n", MaxRows+1)),
	} {
		v := Render(&f, nil, nil)
		if !strings.Contains(v.Note, name) {
			t.Errorf("%s: note %q", name, v.Note)
		}
	}
	f := file("a", "-x\n\\ No newline at end of file\n+y\n")
	if c := Render(&f, nil, nil).Hunks[0].Rows[0]; !c.Old.NoEnd || c.New.NoEnd {
		t.Errorf("the missing line end is not said: %+v", c)
	}
	long := file("a", "+"+strings.Repeat("é", maxLine)+"\n")
	if got := string(Render(&long, nil, nil).Hunks[0].Rows[0].New.HTML); !strings.Contains(got, "bytes more in this line") || strings.Contains(got, `\x`) {
		t.Errorf("a long line is not cut between characters: %.80s", got)
	}
}

func TestFirstFiles(t *testing.T) {
	c := review.Change{Files: []review.File{
		file("go.sum", strings.Repeat("+x\n", 500)),
		file("docs/a.md", strings.Repeat("+x\n", 90)),
		file("big.go", strings.Repeat("+x\n", 80)),
		file("small.go", "+x\n"),
		file("small_test.go", "+x\n"),
		file("out.go", "+// Code generated by x. DO NOT EDIT.\n"+strings.Repeat("+x\n", 99)),
		file("Makefile", "+x\n"),
	}}
	paths := func(list []First) []string {
		var out []string
		for _, f := range list {
			out = append(out, f.Path)
		}
		return out
	}
	for _, tt := range []struct {
		protected []string
		findings  []work.Finding
		most      int
		want      []string
	}{
		{most: 7, want: []string{"big.go", "Makefile", "small.go", "small_test.go", "docs/a.md", "go.sum", "out.go"}},
		{protected: []string{"Makefile"}, most: 2, want: []string{"Makefile", "big.go"}},
		{findings: []work.Finding{{File: "small.go", Severity: work.SeverityMinor}, {File: "go.sum", Severity: work.SeverityCritical}}, most: 3, want: []string{"go.sum", "small.go", "big.go"}},
		{findings: []work.Finding{{File: "small.go", Severity: "absurd"}, {File: "big.go", Severity: work.SeverityMajor}}, most: 1, want: []string{"small.go"}},
		{protected: []string{"out.go"}, findings: []work.Finding{{File: "big.go", Severity: work.SeverityCritical}}, most: 2, want: []string{"out.go", "big.go"}},
		{most: 0}, {most: -1},
	} {
		if got := paths(FirstFiles(c, tt.protected, tt.findings, tt.most)); !slices.Equal(got, tt.want) {
			t.Errorf("protected %v findings %v: got %v, want %v", tt.protected, tt.findings, got, tt.want)
		}
	}
	if why := FirstFiles(c, []string{"Makefile"}, nil, 1)[0].Why; !strings.Contains(why, "proof rests on it") || !strings.Contains(why, "+1 −0") {
		t.Errorf("why: %q", why)
	}
}

func TestMarkdownMarksWhatChanged(t *testing.T) {
	got, ok := Markdown("# One\n\nsame\n\nold\n", "# One\n\nsame\n\nnew\n\n```\na\n\nb\n```\n", func(s string) template.HTML {
		return template.HTML("<p>" + html.EscapeString(strings.TrimSpace(s)) + "</p>")
	})
	want := []Block{{"", "<p># One</p>"}, {"", "<p>same</p>"}, {"del", "<p>old</p>"}, {"ins", "<p>new</p>"}, {"ins", "<p>```\na\n\nb\n```</p>"}}
	if !ok || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, ok)
	}
	if _, ok := Markdown(strings.Repeat("a\n\n", maxBlocks+1), "", nil); ok {
		t.Error("a text without end is compared")
	}
}

// FuzzRender: whatever a file holds, its lines come out whole and inert.
func FuzzRender(f *testing.F) {
	f.Add("a.go", "package a\n", "package b\n")
	f.Add("x.md", "`", "</td><img src=x onerror=y>")
	f.Fuzz(func(t *testing.T, path, before, after string) {
		var body strings.Builder
		n, m := 0, 0
		for l := range strings.SplitSeq(before, "\n") {
			fmt.Fprintf(&body, "-%s\n", l)
			n++
		}
		for l := range strings.SplitSeq(after, "\n") {
			fmt.Fprintf(&body, "+%s\n", l)
			m++
		}
		file := review.File{Path: path, Hunks: []review.Hunk{{OldStart: 1, OldLines: n, NewStart: 1, NewLines: m, Body: []byte(body.String())}}}
		v := Render(&file, []byte(before), []byte(after))
		for _, h := range v.Hunks {
			for _, r := range h.Rows {
				for _, c := range []*Cell{r.Old, r.New} {
					if c == nil {
						continue
					}
					rest := strings.NewReplacer(`<mark>`, "", `</mark>`, "", `</span>`, "", `<span class="odd-char" title="a character that is not seen">`, "", `<span class="odd-char">`, "").Replace(string(c.HTML))
					for _, class := range []string{"tc", "tk", "ts", "tn", "tf", "tb"} {
						rest = strings.ReplaceAll(rest, `<span class="`+class+`">`, "")
					}
					if strings.ContainsAny(rest, "<>\"") {
						t.Fatalf("markup is left in %q", rest)
					}
				}
			}
		}
	})
}
