package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
)

func input(files ...File) Input {
	return Input{
		Specialist: work.Specialist{Name: Security, Gating: true}, PhaseName: "login", Summary: "Let users in.",
		Change: Change{Files: files},
	}
}

func TestReviewVerdicts(t *testing.T) {
	five := []string{at("minor", "a", 1, "alpha"), at("major", "a", 5, "beta"), at("critical", "a", 9, "gamma"), at("major", "a", 13, "delta"), at("major", "a", 17, "epsilon")}
	tests := []struct {
		name     string
		answer   string
		gating   bool
		verdict  work.Verdict
		why      string
		findings int
		notes    int
		dropped  int
	}{
		{"pass", says("pass"), true, work.VerdictPass, "", 0, 0, 0},
		{"warn without a finding", says("warn"), true, work.VerdictWarn, "", 0, 0, 0},
		{"fail", says("fail", at("critical", "a", 1, "x")), true, work.VerdictFail, "", 1, 0, 0},
		{"fail stays above minor findings", says("fail", at("minor", "a", 1, "x")), true, work.VerdictFail, "", 1, 0, 0},
		{"raised to fail", says("pass", at("major", "a", 1, "x")), true, work.VerdictFail, "it says pass", 1, 0, 0},
		{"raised to warn", says("pass", at("minor", "a", 1, "x")), true, work.VerdictWarn, "it says pass", 1, 0, 0},
		{"fail without a finding", says("fail"), true, work.VerdictUnknown, "without a finding", 0, 0, 0},
		{"fail with none in the change", says("fail", at("critical", "b", 1, "x"), at("critical", "a", 99, "x")), true, work.VerdictUnknown, "none of its findings", 0, 0, 2},
		{"pass with none in the change", says("pass", at("critical", "b", 1, "x")), true, work.VerdictPass, "", 0, 0, 1},
		{"at most three blocking", says("fail", five...), true, work.VerdictFail, "", 4, 1, 0},
		{"the same twice", says("fail", at("major", "a", 3, "no lock is held"), at("critical", "a", 3, "No lock  is held")), true, work.VerdictFail, "", 1, 0, 0},
		{"neighbours of one kind", says("fail", at("critical", "a", 1, "SQL injection: name is put into the query"), at("critical", "a", 3, "SQL injection: mail is put into the query"), at("critical", "a", 5, "SQL injection: city is put into the query")), true, work.VerdictFail, "", 3, 0, 0},
		{"unknown word", says("ok"), true, work.VerdictUnknown, "no usable answer: bad_value", 0, 0, 0},
		{"empty", ``, true, work.VerdictUnknown, "no usable answer", 0, 0, 0},
		{"advisory unknown is no pass", ``, false, work.VerdictUnknown, "no usable answer", 0, 0, 0},
	}
	for _, tt := range tests {
		in := input(added("a", strings.Fields(strings.Repeat("x ", 20))...))
		in.Specialist.Gating = tt.gating
		r := Review(t.Context(), saying(tt.answer), in)
		if r.Verdict != tt.verdict || !strings.Contains(r.Why, tt.why) || tt.why == "" && r.Why != "" {
			t.Errorf("%s: %s, %q, want %s, %q", tt.name, r.Verdict, r.Why, tt.verdict, tt.why)
		}
		if len(r.Findings) != tt.findings || len(r.Notes) != tt.notes || r.Hallucinated != tt.dropped {
			t.Errorf("%s: %d findings, %d notes, %d dropped, want %d, %d, %d", tt.name, len(r.Findings), len(r.Notes), r.Hallucinated, tt.findings, tt.notes, tt.dropped)
		}
		if len(r.Findings) > 1 && r.Findings[0].Severity != work.SeverityCritical {
			t.Errorf("%s: the worst is not first: %+v", tt.name, r.Findings)
		}
		if r.Specialist != Security || r.Model != "fake-1" || *r.Usage.InputTokens != 100 || *r.Usage.CostUSD != 0.25 {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

func TestReviewParts(t *testing.T) {
	long := strings.Fields(strings.Repeat(strings.Repeat("y", 100)+" ", 200))
	in := input(added("a", long...), added("b", long...), added("c", long...))
	in.PartTokens = 1 // the least there is
	var kept []string
	in.Keep = func(data []byte) string { kept = append(kept, string(data)); return fmt.Sprint("blob", len(kept)) }
	m := saying(says("pass"), says("warn", at("minor", "a", 190, "one")), says("pass"), says("fail", at("major", "b", 200, "two")), says("pass"))
	r := Review(t.Context(), m, in)
	if len(m.asked) != 6 || r.Verdict != work.VerdictFail || len(r.Findings) != 2 || *r.Usage.InputTokens != 600 || len(r.Files) != 3 || len(r.Unreviewed) != 0 {
		t.Errorf("%d questions: %+v", len(m.asked), r)
	}
	if r.Request != "blob1" || r.Answer != "blob2" || !strings.HasPrefix(kept[0], "request 1\n\n=== next ===\n\nrequest 2") || strings.Count(kept[1], "verdict") != 6 {
		t.Errorf("kept %q", kept)
	}
	if q := m.asked[2]; !strings.Contains(q.User, "part 3 of 6") || !strings.Contains(q.User, "\nA a\nA b\nA c\n") {
		t.Errorf("%.600s", q.User)
	}

	sure := strings.Replace(says("pass"), "0.8", "0.9", 1)
	if r = Review(t.Context(), saying(sure, says("pass"), sure), in); r.Confidence == nil || *r.Confidence != 0.8 {
		t.Errorf("confidence %v, want the least", r.Confidence)
	}
	if r = Review(t.Context(), saying(sure, strings.Replace(sure, "0.9", "null", 1), sure), in); r.Confidence != nil {
		t.Errorf("confidence %v, though one part has none", *r.Confidence)
	}

	// Once a part has no answer, nothing more is asked, and all that is left
	// is named.
	m = &fakeModel{answer: func(n int, _ Question) (string, error) {
		if n == 4 {
			return "", errors.New("the service\nis gone")
		}
		return says("fail", at("critical", "a", 1, "x")), nil
	}}
	r = Review(t.Context(), m, in)
	if len(m.asked) != 4 || r.Verdict != work.VerdictUnknown || r.Why != "part 4 of 6: no usable answer: the service is gone" {
		t.Errorf("%d questions: %s, %q", len(m.asked), r.Verdict, r.Why)
	}
	if !slices.Equal(r.Unreviewed, []string{"b", "c"}) || !slices.Equal(r.Files, []string{"a"}) || len(r.Findings) != 1 {
		t.Errorf("%+v", r)
	}
	in.MaxParts = 3 // b is begun in the third, c does not fit at all
	if r = Review(t.Context(), saying(says("pass")), in); r.Verdict != work.VerdictUnknown || !slices.Equal(r.Unreviewed, []string{"b", "c"}) || r.Why != "not reviewed: b (the change is too large), c (the change is too large)" {
		t.Errorf("over the most parts: %+v", r)
	}
	in.MaxParts = 0
	limit := int64(220)
	in.Tokens = &limit
	if m = saying(says("pass")); Review(t.Context(), m, in).Verdict != work.VerdictUnknown || len(m.asked) != 2 {
		t.Errorf("%d questions over the limit", len(m.asked))
	}
}

func TestReviewNamesWhatItDoesNotShow(t *testing.T) {
	in := input(added("a", "x"), File{Path: "logo.png", Status: Added, NewMode: "100644", Binary: true}, File{Path: "old.png", Status: Deleted, Binary: true})
	r := Review(t.Context(), saying(says("pass")), in)
	if r.Verdict != work.VerdictUnknown || r.Why != "not reviewed: logo.png (binary)" || !slices.Equal(r.Unreviewed, []string{"logo.png"}) || !r.Final {
		t.Errorf("gating: %+v", r)
	}
	in.Specialist.Gating = false
	if r = Review(t.Context(), saying(says("pass")), in); r.Verdict != work.VerdictWarn || len(r.Unreviewed) != 1 {
		t.Errorf("advisory: %+v", r)
	}
	in.Change.Files = in.Change.Files[1:2]
	m := saying(says("pass"))
	if r = Review(t.Context(), m, in); r.Verdict == work.VerdictPass || len(m.asked) != 0 {
		t.Errorf("nothing to show: %+v", r)
	}
	in.Change.Files = nil
	if r = Review(t.Context(), m, in); r.Verdict != work.VerdictPass || len(m.asked) != 0 || r.Why != "the change is empty" || *r.Usage.CostUSD != 0 {
		t.Errorf("no change: %+v", r)
	}
}

func TestReviewSurroundings(t *testing.T) {
	in := input(File{Path: "a", Status: Modified, OldMode: "100644", NewMode: "100644", Hunks: []Hunk{{OldStart: 50, OldLines: 1, NewStart: 50, NewLines: 1, Body: []byte("-x\n+y\n")}}})
	in.Content = func(_ context.Context, path string) ([]byte, error) {
		if path != "a" {
			t.Errorf("%q was read", path)
		}
		return []byte(lines(1, 100)), nil
	}
	ask := `{"verdict":"pass","confidence":null,"findings":[],"need":[{"file":"a","from":48,"to":49},{"file":"../etc/passwd","from":1,"to":2},{"file":"b","from":1,"to":2}]}`
	m := saying(ask, ask)
	r := Review(t.Context(), m, in)
	if len(m.asked) != 2 || r.Verdict != work.VerdictPass || *r.Usage.OutputTokens != 20 || r.Confidence != nil {
		t.Fatalf("%d questions: %+v", len(m.asked), r)
	}
	got := m.asked[1].User
	if !strings.Contains(got, "=== a, lines 48 to 49\n48       line 48\n49       line 49\n\n") || strings.Count(got, "(cannot be had: it is no text file of this change)") != 2 || strings.Contains(got, "line 50\n") {
		t.Errorf("%s", got)
	}
	in.Content = func(context.Context, string) ([]byte, error) { return nil, errors.New("gone") }
	if m = saying(ask, says("warn")); Review(t.Context(), m, in).Verdict != work.VerdictWarn || !strings.Contains(m.asked[1].User, "(cannot be had)") {
		t.Errorf("%s", m.asked[1].User)
	}
	// Who must see more and cannot be asked again has not judged.
	limit := 0.25
	in.CostUSD = &limit
	if r := Review(t.Context(), saying(ask), in); r.Verdict != work.VerdictUnknown {
		t.Errorf("%+v", r)
	}
}

func TestReviewCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := saying(says("pass"))
	if r := Review(ctx, m, input(added("a", "x"))); r.Verdict != work.VerdictUnknown || len(m.asked) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestReviewNeverPassesByItself: whatever comes back, pass needs the word pass
// to every part about every file, and no finding.
func TestReviewNeverPassesByItself(t *testing.T) {
	word := rapid.SampledFrom([]string{"pass", "pass", "pass", "warn", "fail", "unknown", "Pass", ""})
	severity := rapid.SampledFrom([]string{"critical", "major", "minor", "blocker", ""})
	rapid.Check(t, func(t *rapid.T) {
		var in Input
		for i := range rapid.IntRange(1, 4).Draw(t, "files") {
			in.Change.Files = append(in.Change.Files, anyFile(t, i))
		}
		in.Specialist = work.Specialist{Name: "s", Gating: rapid.Bool().Draw(t, "gating")}
		in.PartTokens, in.MaxParts = 1, rapid.IntRange(1, 6).Draw(t, "parts")
		want := work.VerdictPass // as long as nothing speaks against it
		blocking, hidden := false, false
		m := &fakeModel{answer: func(n int, q Question) (string, error) {
			switch rapid.IntRange(0, 11).Draw(t, "trouble") {
			case 0:
				want, hidden = work.VerdictUnknown, true
				return says("pass"), errors.New("no")
			case 1:
				want, hidden = work.VerdictUnknown, true
				return rapid.SampledFrom([]string{"", "{}", "pass", says("pass") + "x"}).Draw(t, "rubbish"), nil
			}
			verdict := word.Draw(t, "verdict")
			var found []string
			for range rapid.IntRange(0, 3).Draw(t, "findings") {
				s, line := severity.Draw(t, "severity"), rapid.IntRange(-1, 5).Draw(t, "line")
				found = append(found, at(s, fmt.Sprintf("dir/file %d", rapid.IntRange(0, 5).Draw(t, "file")), line, "issue "+s))
				if !work.Severity(s).Known() || line < 0 {
					verdict = "" // makes all of it unusable
				}
			}
			text := says(verdict, found...)
			a, err := readAnswer([]byte(text))
			if err != nil {
				want, hidden = work.VerdictUnknown, true
				return text, nil
			}
			placed, _ := place(in.Change, a.findings, "s")
			for _, f := range placed {
				blocking = blocking || blocks(f)
			}
			if verdict != "pass" || len(placed) > 0 {
				want = work.VerdictWarn
			}
			return text, nil
		}}
		r := Review(t.Context(), m, in)
		_, left := parts(in.Change, in.PartTokens, in.MaxParts)
		if len(left) > 0 {
			want = work.VerdictWarn
			if in.Specialist.Gating && r.Verdict != work.VerdictUnknown {
				t.Fatalf("%d files are not reviewed, and the gating verdict is %s", len(left), r.Verdict)
			}
		}
		if (want != work.VerdictPass || hidden) && r.Verdict == work.VerdictPass {
			t.Fatalf("pass: %+v", r)
		}
		if hidden && r.Final {
			t.Fatal("a part has no answer, and nobody is to be asked again")
		}
		if hidden && r.Verdict != work.VerdictUnknown {
			t.Fatalf("a part has no answer, and the verdict is %s", r.Verdict)
		}
		if blocking && r.Verdict != work.VerdictFail && r.Verdict != work.VerdictUnknown {
			t.Fatalf("a blocking finding, and the verdict is %s", r.Verdict)
		}
		if len(r.Files)+len(r.Unreviewed) != len(in.Change.Files) {
			t.Fatalf("%d and %d of %d files", len(r.Files), len(r.Unreviewed), len(in.Change.Files))
		}
		if !r.Verdict.Known() || r.Verdict == work.VerdictUnknown && r.Why == "" {
			t.Fatalf("%s, why %q", r.Verdict, r.Why)
		}
		n := 0
		for _, f := range r.Findings {
			if blocks(f) {
				n++
			}
		}
		if n > work.MaxBlocking {
			t.Fatalf("%d blocking findings", n)
		}
	})
}
