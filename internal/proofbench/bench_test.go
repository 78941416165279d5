//go:build bench

package proofbench_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/proofbench"
)

// TestBenchProof plays every case with the program that FORGE_BENCH_BINARY
// names, prints the figures, and fails when one is out of its bounds.
//
// FORGE_BENCH_ONLY is a regular expression over ecosystem/class/name,
// FORGE_BENCH_PARALLEL how many are played at once (2), FORGE_BENCH_PAGE a page
// to write the figures into, FORGE_BENCH_SHOW prints the end of the journal of
// each failure, FORGE_BENCH_KEEP leaves the projects, FORGE_BENCH_CHECK only
// holds the cases themselves to what they claim.
func TestBenchProof(t *testing.T) {
	binary := os.Getenv("FORGE_BENCH_BINARY")
	if os.Getenv("FORGE_BENCH_CHECK") != "" {
		binary = ""
	} else if binary == "" {
		t.Fatal("FORGE_BENCH_BINARY names no program: make bench-proof")
	}
	ecosystems, cases, err := proofbench.Load(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		t.Fatal(err)
	}
	keep := os.Getenv("FORGE_BENCH_KEEP") != ""
	if !keep {
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	m := &proofbench.Machine{Forge: binary, Dir: dir, Limit: 5 * time.Minute, Modules: modules(), Caches: map[string]string{}}

	only := regexp.MustCompile(os.Getenv("FORGE_BENCH_ONLY"))
	chosen, leftOut := choose(t, m, ecosystems, cases, only)
	parallel, _ := strconv.Atoi(cmp.Or(os.Getenv("FORGE_BENCH_PARALLEL"), "2"))
	done := 0
	results := m.Run(t.Context(), chosen, max(1, parallel), keep, func(r proofbench.Result) {
		done++
		fmt.Printf("%3d/%d %s\n", done, len(chosen), r.Line())
		if os.Getenv("FORGE_BENCH_SHOW") != "" && r.Err == nil && binary != "" && r.Failed() {
			fmt.Println("        " + strings.ReplaceAll(r.Forge.Why, "\n", "\n        "))
		}
	})
	if binary == "" {
		fmt.Print(leftOut)
		for _, r := range results {
			if r.Err != nil {
				t.Errorf("%s: %v", r.Case.ID(), r.Err)
			}
		}
		return
	}

	table := leftOut + proofbench.Table(results)
	fmt.Println("\n" + table)
	if page := os.Getenv("FORGE_BENCH_PAGE"); page != "" {
		write(t, page, table+"\n"+proofbench.Lists(results))
	}
	for _, broken := range proofbench.Broken(results) {
		t.Error(broken)
	}
}

// choose returns the cases that are asked for and that this machine can play,
// and says which it cannot.
func choose(t *testing.T, m *proofbench.Machine, ecosystems []*proofbench.Ecosystem, cases []*proofbench.Case, only *regexp.Regexp) ([]*proofbench.Case, string) {
	leftOut := ""
	var chosen []*proofbench.Case
	for _, eco := range ecosystems {
		var own []*proofbench.Case
		for _, c := range cases {
			if c.Ecosystem == eco && only.MatchString(c.ID()) {
				own = append(own, c)
			}
		}
		if len(own) == 0 {
			continue
		}
		if err := m.Serves(eco); err != nil {
			leftOut += fmt.Sprintf("Left out: %d cases of %s (%v).\n\n", len(own), eco.Name, err)
			continue
		}
		if err := m.Warm(t.Context(), eco); err != nil {
			t.Error(err)
			continue
		}
		chosen = append(chosen, own...)
	}
	return chosen, leftOut
}

// modules reads FORGE_BENCH_MODULES: "name=folder" separated by spaces.
func modules() map[string]string {
	all := map[string]string{}
	for _, word := range strings.Fields(os.Getenv("FORGE_BENCH_MODULES")) {
		name, dir, _ := strings.Cut(word, "=")
		all[name] = dir
	}
	return all
}

func write(t *testing.T, page, text string) {
	path := filepath.Join("..", "..", page)
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	now, err := proofbench.Write(string(was), text)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
		t.Fatal(err)
	}
}
