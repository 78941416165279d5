package stuckeval

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"forge/internal/stuck"
)

// family is one shape that cases have.
type family struct {
	name  string
	label stuck.State
	make  func(m *maker)
}

// Families are the names of the families that Made knows, in their order.
func Families() []string {
	var names []string
	for _, f := range families() {
		names = append(names, f.name)
	}
	return names
}

// Made makes n cases of each family. The same seed makes the same cases. They
// are invented by rule: they show which shapes a rule sees, not how often the
// shapes occur.
func Made(seed uint64, n int) []Case {
	var cases []Case
	for i, f := range families() {
		for k := range n {
			m := &maker{rng: rand.New(rand.NewPCG(seed, uint64(i*1000+k))), tree: "start"}
			m.c = Case{ID: fmt.Sprintf("%s-%d", f.name, k), Family: f.name, Label: f.label}
			m.begin()
			if f.label != stuck.Working {
				onset := len(m.c.Iterations) + 1
				m.c.Onset = &onset
			}
			f.make(m)
			cases = append(cases, m.c)
		}
	}
	return cases
}

// maker writes one case.
type maker struct {
	rng  *rand.Rand
	c    Case
	tree string
	made int      // names given so far
	left []string // tests that fail
}

// fresh is a name that was never given before.
func (m *maker) fresh(kind string) string {
	m.made++
	return fmt.Sprintf("%s%x", kind, m.made*7919+m.rng.IntN(7919))
}

func (m *maker) one(of ...string) string { return of[m.rng.IntN(len(of))] }

// between is a number from low to high, both included.
func (m *maker) between(low, high int) int { return low + m.rng.IntN(high-low+1) }

func (m *maker) often(share float64) bool { return m.rng.Float64() < share }

// times does something so often, with the number from 0.
func (m *maker) times(low, high int, do func(i int)) {
	for i := range m.between(low, high) {
		do(i)
	}
}

func (m *maker) add(w Written) *Written {
	w.N = len(m.c.Iterations) + 1
	if w.Outcome == "" {
		w.Outcome = "ok"
	}
	if w.Tree == "" {
		w.Tree = m.tree
	}
	w.Changed, m.tree = w.Tree != m.tree, w.Tree
	m.c.Iterations = append(m.c.Iterations, w)
	return &m.c.Iterations[len(m.c.Iterations)-1]
}

// begin is good work at first: it makes tests pass, one or two at a time.
func (m *maker) begin() {
	n := m.between(4, 9)
	for i := range n {
		m.left = append(m.left, fmt.Sprintf("TestPart%d", i))
	}
	m.times(0, 3, func(int) {
		m.left = m.left[:len(m.left)-1]
		m.write("").test(m)
	})
}

// write is a change that was never made before; "" = of a file of the project.
func (m *maker) write(file string) *Written {
	if file == "" {
		file = m.one("app/users.py", "app/orders.py", "app/mail.py", "app/db.py", "app/cart.py", "lib/http.py", "lib/cache.py")
	}
	return m.edit(m.fresh("t"), m.fresh("s"), file)
}

func (m *maker) edit(tree, shape string, files ...string) *Written {
	w := Written{Tree: tree, Shape: shape, Files: files, Message: m.one("Changed it as planned.", "This should do it.", "Went on with the task.")}
	for _, f := range files {
		w.Tools = append(w.Tools, WrittenCall{Name: "Edit", Args: f, Result: "edited " + tree})
	}
	return m.add(w)
}

// test runs the tests: what fails is what the maker has left.
func (w *Written) test(m *maker) *Written { return w.fails(m, m.left...) }

// fails runs the tests, of which these fail. The output names the time, which
// the steady result leaves out.
func (w *Written) fails(m *maker, failing ...string) *Written {
	steady := fmt.Sprint("failed: ", failing)
	w.Tools = append(w.Tools, WrittenCall{
		Name: "Bash", Args: "pytest -q", Result: steady + m.fresh(" in "), Norm: steady, Error: len(failing) > 0, Failing: append([]string{}, failing...),
	})
	return w
}

// idle is an iteration without a change: "args=result", "!" before an error.
func (m *maker) idle(said string, calls ...[2]string) *Written {
	w := Written{Message: said}
	for _, c := range calls {
		w.Tools = append(w.Tools, WrittenCall{Name: "Bash", Args: c[0], Result: c[1]})
	}
	return m.add(w)
}

// aside is now and then a call that has nothing to do with the others.
func (m *maker) aside(w *Written) {
	if m.often(0.3) {
		w.Tools = append(w.Tools, WrittenCall{Name: "Bash", Args: "cat " + m.fresh("notes/n"), Result: m.fresh("text")})
	}
}

// wait says that an iteration waits, by a mark or, where words may do, by them alone.
func (m *maker) wait(w *Written, kind stuck.WaitKind, alive bool) {
	w.Wait = &stuck.Wait{Kind: kind, Alive: alive}
}

// some are n different names of a list.
func (m *maker) some(n int, of []string) []string {
	of = slices.Clone(of)
	m.rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	return of[:min(n, len(of))]
}
