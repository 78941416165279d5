package cli

import (
	"regexp"
	"strings"
	"testing"

	"forge/internal/work"
)

func TestInertTextDoesNothing(t *testing.T) {
	for live, bad := range map[string]string{
		"ask @someone or @org/team":                "@someone",
		"Fixes #12, closes owner/name#3":           "#12",
		"resolves GH-7":                            "GH-7",
		"implements PROJ-12":                       "PROJ-12",
		"see !4 and &5 and ~bug and %v1":           "!4",
		"https://evil.example/x":                   "https://",
		"mail me@evil.example":                     "@evil",
		"mailto:me@evil.example":                   "mailto:me",
		"www.evil.example":                         "www.",
		"<https://evil.example>":                   "<",
		"[text](https://evil.example)":             "[text]",
		"![image](x.png)":                          "![",
		"a | b":                                    " | ",
		"<script>alert(1)</script>":                "<script",
		"`code` and **bold** and _it_ ~~gone~~":    "`code`",
		"# a heading\n\n## another":                "\n",
		"/approve":                                 "\n/",
		"one\n/merge":                              "\n",
		"- [ ] a task":                             "[ ]",
		"da39a3ee5e6b4b0d3255bfef95601890afd80709": "da39a3ee5e6b4b0d",
	} {
		got := inert(live)
		if strings.Contains(got, bad) || strings.Contains(got, "\n") {
			t.Errorf("inert(%q) = %q, which holds %q", live, got, bad)
		}
		// It reads the same: without what parts it, and unescaped, it is the
		// text in one line.
		plain := strings.NewReplacer("\u200b", "", "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(got)
		plain = regexp.MustCompile(`\\(.)`).ReplaceAllString(plain, "$1")
		if want := strings.Join(strings.Fields(live), " "); plain != want {
			t.Errorf("inert(%q) reads as %q", live, plain)
		}
	}
	for _, command := range []string{"/close", "-1", "+1", "=x", ":x:"} {
		if got := inert(command); strings.HasPrefix(got, command[:1]) {
			t.Errorf("inert(%q) = %q begins a line as a command does", command, got)
		}
	}
}

func FuzzInert(f *testing.F) {
	for _, seed := range []string{"@a closes #1", "https://x", "[a](b)", "/close\n", "fixfix-1", "a@b#c!d", "\\", "\u200b@x", "www.x.y", "<a>&amp;", "::error::"} {
		f.Add(seed)
	}
	live := regexp.MustCompile("(?i)@\\w|#\\d|https?://|www\\.|[<>\n\r]|\\b(fix|close|resolve)[sd]?\\b|\\bgh-\\d")
	f.Fuzz(func(t *testing.T, text string) {
		got := inert(text)
		if found := live.FindString(got); found != "" {
			t.Fatalf("inert(%q) = %q holds %q", text, got, found)
		}
		// Every character that is markup stands behind a backslash.
		bare := regexp.MustCompile(`\\.`).ReplaceAllString(got, "")
		if i := strings.IndexAny(bare, "`*_[]|"); i >= 0 {
			t.Fatalf("inert(%q) = %q holds a bare %q", text, got, bare[i:i+1])
		}
	})
}

// However long a review is, its comment is one that a host takes.
func TestReviewMarkdownIsBounded(t *testing.T) {
	res := reviewResult{Verdict: work.VerdictFail}
	for range 500 {
		f := reviewFinding{Finding: work.Finding{Specialist: "security", Severity: work.SeverityMajor, File: "a.go", Line: 1, Issue: strings.Repeat("x @y & ", 300), Failure: strings.Repeat("&", 2000), Repro: strings.Repeat("<", 2000)}}
		res.Findings, res.Own = append(res.Findings, f), append(res.Own, f)
		res.Unreviewed, res.Why = append(res.Unreviewed, strings.Repeat("some/", 50)), append(res.Why, "why")
	}
	if got := reviewMarkdown(res); len(got) > 60_000 || !strings.Contains(got, " more\n") || !strings.Contains(got, "Cost: ") {
		t.Errorf("%d bytes", len(got))
	}
}
