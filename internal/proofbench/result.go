package proofbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Result is what became of one case.
type Result struct {
	Case  *Case
	Naive Naive
	Forge Forge
	Err   error // the case itself is broken: nothing is said about Forge
}

// Let says that a cheat got through.
func (r Result) Let() bool { return r.Forge.Delivered && r.Forge.Wrong }

// Silent says that a cheat got through and nothing in the journal names it.
func (r Result) Silent() bool { return r.Let() && len(r.Forge.Reasons) == 0 }

// Held says that an honest change was not delivered.
func (r Result) Held() bool { return !r.Forge.Delivered }

// Truly says that an honest change was held for the reason that it has.
func (r Result) Truly() bool { return r.Held() && slices.Contains(r.Forge.Reasons, r.Case.Want) }

// Run plays the cases, a few at a time, and tells each result as it comes.
func (m *Machine) Run(ctx context.Context, cases []*Case, parallel int, keep bool, tell func(Result)) []Result {
	results := make([]Result, len(cases))
	next := make(chan int)
	var lock sync.Mutex
	var wait sync.WaitGroup
	for range parallel {
		wait.Go(func() {
			for i := range next {
				results[i] = m.one(ctx, cases[i], keep)
				lock.Lock()
				tell(results[i])
				lock.Unlock()
			}
		})
	}
	for i := range cases {
		next <- i
	}
	close(next)
	wait.Wait()
	return results
}

func (m *Machine) one(ctx context.Context, c *Case, keep bool) Result {
	r := Result{Case: c}
	if r.Naive, r.Err = m.Naive(ctx, c); r.Err != nil {
		return r
	}
	if r.Err = r.sound(); r.Err != nil || m.Forge == "" {
		return r
	}
	r.Forge, r.Err = m.play(ctx, c, keep)
	return r
}

// play tells a program that hangs from a case that is broken: what is not
// delivered in time is not delivered.
func (m *Machine) play(ctx context.Context, c *Case, keep bool) (Forge, error) {
	f, err := m.Prove(ctx, c, keep)
	if errors.Is(err, context.DeadlineExceeded) {
		f.Outcome, f.Delivered = "time limit", false
		return f, nil
	}
	return f, err
}

// sound says what is wrong with the case: a cheat has to be wrong, an honest
// change right and green.
func (r Result) sound() error {
	switch {
	case r.Case.Honest() && r.Naive.Wrong:
		return errors.New("the oracle calls this honest change wrong")
	case r.Case.Honest() && !r.Naive.Green:
		return fmt.Errorf("the tests of this honest change are red:\n%s", tail(r.Naive.Output, 30))
	case !r.Case.Honest() && !r.Naive.Wrong:
		return errors.New("the oracle calls this cheat right")
	}
	return nil
}

// Warm holds an ecosystem's project to what it claims, green and right, and
// keeps the cache that its tools made meanwhile.
func (m *Machine) Warm(ctx context.Context, eco *Ecosystem) error {
	c := &Case{Ecosystem: eco, Class: "honest", Name: "base", Want: "free"}
	w, err := m.newWorld(ctx, c)
	if err != nil {
		return err
	}
	green, out, err := w.green(ctx, "HEAD", nil)
	if err != nil {
		return fmt.Errorf("%s: verify the base: %w", eco.Name, err)
	}
	if !green {
		return fmt.Errorf("%s: the base is not green: %s", eco.Name, out)
	}
	wrong, err := w.wrong(ctx, "HEAD")
	if err != nil {
		return fmt.Errorf("%s: ask the oracle about the base: %w", eco.Name, err)
	}
	if wrong {
		return fmt.Errorf("%s: the oracle calls the base wrong", eco.Name)
	}
	if eco.Cache == "" {
		w.remove()
		return nil
	}
	m.Caches[eco.Name] = w.home + "/" + eco.Cache
	return nil
}

// Wilson is the interval, with 95 % confidence, in which the share lies of
// which k of n were seen.
func Wilson(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959964
	p, nn := float64(k)/float64(n), float64(n)
	mid := p + z*z/(2*nn)
	half := z * math.Sqrt(p*(1-p)/nn+z*z/(4*nn*nn))
	return max(0, (mid-half)/(1+z*z/nn)), min(1, (mid+half)/(1+z*z/nn))
}

// ratio of what the proof took to one verify; 0 when it is not known, or of
// several phases.
func (r Result) ratio() float64 {
	single := len(r.Case.Steps) == 1 && len(r.Case.Steps[0].Phases) == 1
	if !single || r.Forge.Verify < 50*time.Millisecond || r.Forge.Proof == 0 {
		return 0
	}
	return float64(r.Forge.Proof) / float64(r.Forge.Verify)
}

// Failed says that Forge did not do what it should with the case.
func (r Result) Failed() bool {
	switch {
	case !r.Case.Honest():
		return r.Let()
	case r.Case.Want == "free":
		return r.Held()
	}
	return !r.Truly()
}
