package issueform

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
)

func TestComesBack(t *testing.T) {
	word := rapid.StringMatching(`[a-zé:#-]{1,8}( [a-z:]{1,5})?`)
	rapid.Check(t, func(t *rapid.T) {
		i := work.Issue{
			ID: 3, Title: word.Draw(t, "title"), Priority: work.PriorityHigh, Level: rapid.SampledFrom([]string{"", "full"}).Draw(t, "level"),
			Labels: rapid.SliceOfN(word, 0, 3).Draw(t, "labels"), Needs: rapid.SliceOfN(rapid.Int64Range(1, 99), 0, 3).Draw(t, "needs"),
			Description: rapid.SampledFrom([]string{"", "a", "a\n", "---\n", "a\n\n---\nb\n", "\n", "title: x"}).Draw(t, "description"),
		}
		for n, text := range rapid.SliceOfN(word, 0, 3).Draw(t, "criteria") {
			i.Criteria = append(i.Criteria, work.Criterion{ID: "c" + string(rune('1'+2*n)), Text: text})
			i.CriteriaGiven = 2*n + 1
		}
		got, err := Read(i, Of(i))
		if err != nil {
			t.Fatal(err)
		}
		if len(i.Labels) == 0 {
			got.Labels = i.Labels
		}
		if len(i.Needs) == 0 {
			got.Needs = i.Needs
		}
		if !reflect.DeepEqual(got, i) {
			t.Fatalf("form\n%s\ngave %+v, want %+v", Of(i), got, i)
		}
	})
}

func TestIsRefused(t *testing.T) {
	i := work.Issue{ID: 3, Title: "a", Priority: work.PriorityLow, Criteria: []work.Criterion{{ID: "c1", Text: "x"}}, CriteriaGiven: 4}
	form := Of(i)
	for name, c := range map[string][3]string{
		"no rule":           {"---\n", "", "the line --- is gone"},
		"unknown field":     {"level:", "policy:", `unknown field: "policy:"`},
		"field twice":       {"level:", "level:\nlevel:", "the field stands twice"},
		"field gone":        {"level:\n", "", `the line "level:" is gone`},
		"not a field":       {"level:", "hello\nlevel:", "line 5: not a field"},
		"criteria inline":   {"criteria:", "criteria: x", "criteria stand below"},
		"item too early":    {"title:", "- c1: x\ntitle:", "unknown field"},
		"need not a number": {"needs:", "needs: one", `"one" is not the number`},
	} {
		_, err := Read(i, strings.Replace(form, c[0], c[1], 1))
		if err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v, want %q", name, err, c[2])
		}
	}
	got, err := Read(i, strings.Replace(form, "- c1: x", "- c2: new\r\n- also new\r\n", 1))
	want := []work.Criterion{{ID: "c5", Text: "c2: new"}, {ID: "c6", Text: "also new"}}
	if err != nil || !reflect.DeepEqual(got.Criteria, want) {
		t.Errorf("criteria %+v, %v, want %+v", got.Criteria, err, want)
	}
}

// Whatever is written into the form: it is refused, or what it gives comes back
// from a form of its own.
func FuzzForm(f *testing.F) {
	i := work.Issue{ID: 3, Title: "a", Priority: work.PriorityLow, Description: "d\n", Criteria: []work.Criterion{{ID: "c1", Text: "x"}}, CriteriaGiven: 1}
	f.Add(Of(i))
	f.Add("title: b\npriority: x\nlabels: a,,b , c\nneeds: #1, 2\nlevel:\ncriteria:\n- c1: y\n- c9: z\n\n---\n---\n")
	f.Add("---\n")
	f.Fuzz(func(t *testing.T, text string) {
		now, err := Read(i, text)
		if err != nil || len(now.Check()) > 0 {
			return
		}
		for _, c := range now.Criteria {
			now.CriteriaGiven = max(now.CriteriaGiven, c.Number())
		}
		again, err := Read(now, Of(now))
		if err != nil || !reflect.DeepEqual(again, now) {
			t.Fatalf("%+v\ncame back as %+v, %v", now, again, err)
		}
	})
}
