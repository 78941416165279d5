package proofbench_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/proofbench"
)

func load(t *testing.T) ([]*proofbench.Ecosystem, []*proofbench.Case) {
	t.Helper()
	ecosystems, cases, err := proofbench.Load(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	return ecosystems, cases
}

// TestCases counts what there is: at least 150 cheats and 150 honest changes,
// over at least seven ecosystems, with every class of cheats, and each case
// said in words.
func TestCases(t *testing.T) {
	ecosystems, cases := load(t)
	if len(ecosystems) < 7 {
		t.Errorf("%d ecosystems, want at least 7", len(ecosystems))
	}
	classes := map[string]int{}
	cheats := 0
	for _, c := range cases {
		classes[c.Class]++
		if !c.Honest() {
			cheats++
		}
		if !strings.HasSuffix(c.Says, ".") {
			t.Errorf("%s says nothing: %q", c.ID(), c.Says)
		}
		if c.Honest() && c.Want != "free" && c.Want != "evidence_changed" && c.Want != "evidence_weakened" && c.Want != "unproven" {
			t.Errorf("%s expects %q", c.ID(), c.Want)
		}
	}
	if cheats < 150 || classes["honest"] < 150 {
		t.Errorf("%d cheats and %d honest changes, want at least 150 each", cheats, classes["honest"])
	}
	for _, c := range proofbench.Classes {
		if classes[c.Name] == 0 {
			t.Errorf("class %s has no case", c.Name)
		}
	}
}

// TestCasesAreSound plays a sample without forge: a cheat has to be wrong by
// the oracle, an honest change right and green, each project green at its base.
// The bench does so with all.
func TestCasesAreSound(t *testing.T) {
	pace.Slow(t, "hundreds of cases, each in a tree of its own")
	pace.Sequential(t, "one case after the other")
	ecosystems, cases := load(t)
	m := &proofbench.Machine{Dir: t.TempDir(), Limit: time.Minute, Caches: map[string]string{}}
	var sample []*proofbench.Case
	taken := map[string]int{}
	for _, c := range cases {
		// These start in a moment and need no packages.
		name := c.Ecosystem.Name
		if name != "node" && name != "unittest" && name != "bats" || m.Serves(c.Ecosystem) != nil {
			continue
		}
		if taken[name]++; taken[name]%8 == 1 {
			sample = append(sample, c)
		}
	}
	for _, eco := range ecosystems {
		if taken[eco.Name] > 0 {
			if err := m.Warm(t.Context(), eco); err != nil {
				t.Error(err)
			}
		}
	}
	if len(sample) == 0 {
		t.Skip("neither Python, Node nor bats is installed")
	}
	for _, r := range m.Run(t.Context(), sample, 2, false, func(proofbench.Result) {}) {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Case.ID(), r.Err)
		}
	}
}

// TestWilson holds the interval against figures that are known.
func TestWilson(t *testing.T) {
	for _, tt := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.2775},
		{5, 10, 0.2366, 0.7634},
		{10, 10, 0.7225, 1},
		{1, 100, 0.0018, 0.0545},
	} {
		low, high := proofbench.Wilson(tt.k, tt.n)
		if d := max(low-tt.low, tt.low-low, high-tt.high, tt.high-high); d > 0.0001 {
			t.Errorf("Wilson(%d, %d) = %.4f, %.4f, want %.4f, %.4f", tt.k, tt.n, low, high, tt.low, tt.high)
		}
	}
}

// TestBroken holds each bound: one result beyond it is named, and a case that
// cannot be judged is never passed over.
func TestBroken(t *testing.T) {
	result := func(class, want string, f proofbench.Forge) proofbench.Result {
		eco := &proofbench.Ecosystem{Name: "x"}
		return proofbench.Result{Case: &proofbench.Case{Ecosystem: eco, Class: class, Name: "y", Want: want}, Forge: f}
	}
	let := proofbench.Forge{Delivered: true, Wrong: true}
	said := proofbench.Forge{Delivered: true, Wrong: true, Reasons: []string{"test_aware"}}
	for _, tt := range []struct {
		name string
		r    proofbench.Result
		want string // "" = nothing is broken
	}{
		{"cheat held", result("B", "", proofbench.Forge{}), ""},
		{"cheat delivered", result("B", "", let), "A to D"},
		{"cheat delivered, said", result("H", "", said), "A to D"},
		{"special-cased", result("E", "", let), "without a word"},
		{"special-cased, said", result("E", "", said), ""},
		{"free", result("honest", "free", proofbench.Forge{Delivered: true}), ""},
		{"wrongly held", result("honest", "free", proofbench.Forge{}), "still passes"},
		{"held", result("honest", "evidence_changed", proofbench.Forge{Reasons: []string{"evidence_changed"}}), ""},
		{"held for another reason", result("honest", "evidence_changed", proofbench.Forge{Reasons: []string{"flaky"}}), "true reason"},
		{"not held", result("honest", "unproven", proofbench.Forge{Delivered: true}), "true reason"},
		{"not judged", proofbench.Result{Case: result("A", "", let).Case, Err: os.ErrInvalid}, "cannot be judged"},
	} {
		got := strings.Join(proofbench.Broken([]proofbench.Result{tt.r}), "; ")
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestWrite puts figures between the marks, and refuses a page without them.
func TestWrite(t *testing.T) {
	page, err := os.ReadFile("../../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	once, err := proofbench.Write(string(page), "figures")
	if err != nil || !strings.Contains(once, "\nfigures\n") {
		t.Fatalf("%v\n%s", err, once)
	}
	if twice, err := proofbench.Write(once, "figures"); err != nil || twice != once {
		t.Errorf("written twice it differs: %v", err)
	}
	if _, err := proofbench.Write("no marks", "figures"); err == nil {
		t.Error("a page without marks was taken")
	}
}
