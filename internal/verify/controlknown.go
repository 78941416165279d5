package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/installed"
	"forge/internal/runner"
)

// knownVersion is that of the form of known, part of its key.
const knownVersion = 5

// known is what a runner said of a trusted state. It is kept by the content of
// that state, and filled from runs of nothing else.
type known struct {
	Version int      `json:"version"`
	Prepare bool     `json:"prepare"` // it says something only after the verify commands
	Passed  []string `json:"passed"`
	Skipped int      `json:"skipped"`
	// Planted are test files beside which a test that must fail was red by
	// name.
	Planted []string `json:"planted"`
	Rounds  []round  `json:"rounds"`
	// Installed is what setup installed for tests alone.
	Installed installed.Sums `json:"installed,omitempty"`
}

// round is one run with wrong expectations, and what came of it.
type round struct {
	Wrong []runner.Wrong `json:"wrong"`
	Red   []string       `json:"red"`   // passed before, and failed
	Green []string       `json:"green"` // passed all the same
}

// calibrate returns what is known of the trusted state, which is asked when
// nothing is.
func (c *control) calibrate(ctx context.Context, ask runner.Ask) (known, error) {
	tree, err := c.files(ctx, c.req.Trusted)
	if err != nil {
		return known{}, err
	}
	key, err := c.knownKey(tree, ask)
	if err != nil {
		return known{}, err
	}
	entry := filepath.Join(c.keepDir(), "known", key+".json")
	var k known
	if data, err := os.ReadFile(entry); err == nil && json.Unmarshal(data, &k) == nil && k.Version == knownVersion {
		return k, nil
	}
	if k, err = c.learn(ctx, tree, ask); err != nil {
		return known{}, err
	}
	data, err := json.Marshal(k)
	if err != nil {
		return known{}, err
	}
	return k, writeWhole(entry, data)
}

// writeWhole lets a file take its name when all of it is there.
func writeWhole(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// knownKey is the hash of everything that the answers depend on.
func (c *control) knownKey(t folderTree, ask runner.Ask) (string, error) {
	sum := sha256.New()
	head, err := json.Marshal(struct {
		Version  int
		Ask      runner.Ask
		Commands []string
		Worktree any
		Tools    string
	}{knownVersion, ask, c.req.Commands, c.req.Worktree, toolPrint(c.environ, ask.Command)})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(sum, "%s\n", head)
	content, err := treeSum(t)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(sum, content)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// learn asks the trusted state: what passes, which planted tests are red by
// name, and which expectations, made wrong, are.
func (c *control) learn(ctx context.Context, tree folderTree, ask runner.Ask) (known, error) {
	k := known{Version: knownVersion}
	sources, err := tree.read(ask.Tests)
	if err != nil {
		return k, err
	}
	kind, _ := runner.Lookup(ask.Runner)
	planted, overlay := plant(kind, samples(ask.Tests), sources)
	t := trial{commit: c.req.Trusted, ask: ask, what: "which tests pass on the trusted state", overlay: overlay, trusted: true}
	t.before = func() (err error) {
		k.Installed, err = c.installed(tree)
		return err
	}
	rep, err := c.run(ctx, t)
	t.before = nil
	if err != nil {
		return k, err
	}
	if passed, _ := outcomes(rep, planted); len(passed) == 0 && len(c.req.Commands) > 0 {
		k.Prepare, t.prepare = true, true
		if rep, err = c.run(ctx, t); err != nil {
			return k, err
		}
	}
	for file, word := range planted {
		if rep.RedByName(word) {
			k.Planted = append(k.Planted, file)
		}
	}
	slices.Sort(k.Planted)
	if len(rep.Broken) > 0 || len(k.Planted) < len(planted) {
		// A planted test may be what is in the way.
		planted, t.overlay = plant(kind, k.Planted, sources)
		if rep, err = c.run(ctx, t); err != nil {
			return k, err
		}
	}
	k.Passed, k.Skipped = outcomes(rep, planted)
	if len(k.Passed) == 0 {
		return k, nil
	}
	return k, c.learnWrong(ctx, ask, &k, rep, sources)
}

// samples returns one test file of each folder.
func samples(tests []string) []string {
	var found []string
	seen := map[string]bool{}
	for _, f := range tests {
		if dir := path.Dir(f) + path.Ext(f); !seen[dir] {
			seen[dir] = true
			found = append(found, f)
		}
	}
	return found
}

// plant returns a test that must fail beside each of files: its word by the
// file beside it, and what stands where.
func plant(kind runner.Kind, files []string, sources map[string][]byte) (map[string]string, map[string][]byte) {
	words, overlay := map[string]string{}, map[string][]byte{}
	if kind.Plant == nil {
		return words, overlay
	}
	for _, f := range files {
		w := word()
		if name, text, ok := kind.Plant(f, sources[f], w); ok {
			words[f], overlay[name] = w, []byte(text)
		}
	}
	return words, overlay
}

// outcomes returns the names that passed, without planted ones, and how many
// were skipped.
func outcomes(rep runner.Report, planted map[string]string) (passed []string, skipped int) {
	for _, t := range rep.Tests {
		if isPlanted(t.Name, planted) {
			continue
		}
		switch t.Outcome {
		case runner.Passed:
			passed = append(passed, t.Name)
		case runner.Skipped:
			skipped++
		}
	}
	return passed, skipped
}

func isPlanted(name string, planted map[string]string) bool {
	for _, w := range planted {
		if strings.Contains(strings.ToLower(name), w) {
			return true
		}
	}
	return false
}

// learnWrong makes one expectation of each test wrong, in two runs: in each
// about half of the tests stay as they are, so that what looks at a test file
// and behaves where it was changed is seen by those. Where no test of a half
// turns red, the one drawn was no expectation, such as a message: others are. So it
// is with single tests that stayed green, such as one whose input was drawn.
func (c *control) learnWrong(ctx context.Context, ask runner.Ask, k *known, base runner.Report, sources map[string][]byte) error {
	halves := [2][][]runner.Wrong{}
	turn := rand.IntN(2)
	for _, f := range ask.Tests {
		for _, test := range byTest(runner.Expectations(f, sources[f])) {
			halves[turn%2] = append(halves[turn%2], test)
			turn++
		}
	}
	var quiet [][]runner.Wrong
	for _, tests := range halves {
		for _, draw := range []func([]runner.Wrong) int{thatSaysMost, thatEndsItsLine, thatEndsItsLine, thatSaysMost, thatIsSurest} {
			r, err := c.learnRound(ctx, ask, k, base, sources, takeOneOfEach(tests, draw))
			if err != nil {
				return err
			}
			if len(r.Red) > 0 {
				k.Rounds = append(k.Rounds, r)
				quiet = append(quiet, stayedGreen(tests, r)...)
				break
			}
		}
	}
	again := []func([]runner.Wrong) int{thatEndsItsLine, thatSaysMost}
	if c.req.VerifyMillis > longVerify {
		again = again[:1]
	}
	for _, draw := range again {
		r, err := c.learnRound(ctx, ask, k, base, sources, takeOneOfEach(quiet, draw))
		if err != nil {
			return err
		}
		if len(r.Red) > 0 {
			k.Rounds = append(k.Rounds, r)
		}
		quiet = stayedGreen(quiet, r)
	}
	return nil
}

// longVerify is beyond which tests that stay green are asked once more, and not twice:
// each time is a run of all tests, at each new state of the base.
const longVerify = 20_000

// stayedGreen are the tests of which an expectation was made wrong in a round, that
// ran in it and passed, by name, and that have more to be made wrong.
func stayedGreen(tests [][]runner.Wrong, r round) [][]runner.Wrong {
	var out [][]runner.Wrong
	for _, left := range tests {
		if len(left) == 0 {
			continue
		}
		name, in := runner.NameOf(left[0]), func(names []string) bool { return slices.ContainsFunc(names, runner.NameOf(left[0]).In) }
		drawn := slices.ContainsFunc(r.Wrong, func(w runner.Wrong) bool { return w.Path == left[0].Path && w.Test == left[0].Test })
		if name != "" && drawn && in(r.Green) && !in(r.Red) {
			out = append(out, left)
		}
	}
	return out
}

// byTest groups expectations by the test that they stand in.
func byTest(all []runner.Wrong) [][]runner.Wrong {
	var tests [][]runner.Wrong
	at := map[string]int{}
	for _, w := range all {
		i, known := at[w.Test]
		if !known {
			i = len(tests)
			at[w.Test] = i
			tests = append(tests, nil)
		}
		tests[i] = append(tests[i], w)
	}
	return tests
}

// takeOneOfEach takes one expectation out of each test that has any left.
func takeOneOfEach(tests [][]runner.Wrong, draw func([]runner.Wrong) int) []runner.Wrong {
	var taken []runner.Wrong
	for i, left := range tests {
		if len(left) == 0 {
			continue
		}
		at := draw(left)
		taken = append(taken, left[at])
		tests[i] = slices.Delete(slices.Clone(left), at, at+1)
	}
	return taken
}

// thatSaysMost draws one of those whose sort says most.
func thatSaysMost(all []runner.Wrong) int { return drawn(all, slices.MinFunc(all, bySort).Sort) }

// thatEndsItsLine draws one of those that thatSaysMost draws of, where there is one
// behind which its line has no other: most lines end with what is expected.
func thatEndsItsLine(all []runner.Wrong) int {
	most := slices.MinFunc(all, bySort).Sort
	var of []int
	for i, w := range all {
		last := !slices.ContainsFunc(all, func(o runner.Wrong) bool { return o.Line == w.Line && o.From > w.From && o.Sort == most })
		if w.Sort == most && last {
			of = append(of, i)
		}
	}
	return of[rand.IntN(len(of))]
}

// thatIsSurest draws one of those that turn a test red whatever else is there.
func thatIsSurest(all []runner.Wrong) int { return drawn(all, slices.MaxFunc(all, bySort).Sort) }

func bySort(a, b runner.Wrong) int { return int(a.Sort - b.Sort) }

// drawn draws one of a sort, of which there is at least one.
func drawn(all []runner.Wrong, sort runner.WrongSort) int {
	var of []int
	for i, w := range all {
		if w.Sort == sort {
			of = append(of, i)
		}
	}
	return of[rand.IntN(len(of))]
}

// learnRound runs the trusted state with wrong expectations. Where a file does
// not load with them, those of that file are left out.
func (c *control) learnRound(ctx context.Context, ask runner.Ask, k *known, base runner.Report, sources map[string][]byte, wrong []runner.Wrong) (round, error) {
	for range 3 {
		if len(wrong) == 0 {
			return round{}, nil
		}
		rep, err := c.run(ctx, trial{
			commit: c.req.Trusted, ask: ask, what: fmt.Sprintf("%d expectations made wrong on the trusted state", len(wrong)),
			overlay: overlayWrong(sources, wrong), prepare: k.Prepare, trusted: true,
		})
		if err != nil {
			return round{}, err
		}
		r, lost := compared(wrong, k.Passed, base, rep)
		if len(lost) == 0 {
			return r, nil
		}
		kept := slices.DeleteFunc(slices.Clone(wrong), func(w runner.Wrong) bool { return inGroups(w.Path, ask.Dir, lost) })
		if len(kept) == len(wrong) {
			return round{}, nil // nobody knows which of them is in the way
		}
		wrong = kept
	}
	return round{}, nil
}

// compared returns what a run with wrong expectations said, and the groups that
// it lost as a whole. A name that is new, since a row of a table has another
// value, counts as one that had passed.
func compared(wrong []runner.Wrong, passed []string, base, rep runner.Report) (round, map[string]bool) {
	r, lost, was := round{Wrong: wrong}, map[string]bool{}, base.Outcomes()
	for _, t := range base.Tests {
		if slices.Contains(passed, t.Name) { // and is not planted
			lost[t.Group] = true
		}
	}
	for _, t := range rep.Tests {
		delete(lost, t.Group)
		o, known := was[t.Name]
		switch {
		case t.Outcome == runner.Failed && (!known || o == runner.Passed):
			r.Red = append(r.Red, t.Name)
		case t.Outcome == runner.Passed && o == runner.Passed:
			r.Green = append(r.Green, t.Name)
		}
	}
	for g := range rep.Broken {
		lost[g] = true
	}
	return r, lost
}

// inGroups says whether a test file belongs to one of groups: files, folders,
// packages or modules, as the runners call them.
func inGroups(file, dir string, groups map[string]bool) bool {
	rel := file
	if dir != "." {
		rel = strings.TrimPrefix(file, dir+"/")
	}
	folder := path.Dir(rel)
	bare := strings.TrimSuffix(rel, path.Ext(rel))
	for g := range groups {
		switch {
		case g == rel || g == bare || g == folder || strings.HasSuffix(g, "/"+rel):
			return true
		case folder != "." && strings.HasSuffix(g, "/"+folder):
			return true
		case folder == "." && !strings.Contains(g, ".go") && path.Ext(rel) == ".go" && strings.Count(g, "/") <= 2:
			return true
		case strings.HasSuffix("."+strings.ReplaceAll(bare, "/", "."), "."+g):
			return true
		}
	}
	return false
}

func overlayWrong(sources map[string][]byte, wrong []runner.Wrong) map[string][]byte {
	byFile := map[string][]runner.Wrong{}
	for _, w := range wrong {
		byFile[w.Path] = append(byFile[w.Path], w)
	}
	overlay := map[string][]byte{}
	for f, all := range byFile {
		overlay[f] = runner.MakeWrong(sources[f], all)
		if path.Ext(f) == ".go" {
			overlay[f] = runner.Catching(overlay[f])
		}
	}
	return overlay
}
