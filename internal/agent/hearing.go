package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"forge/internal/work"
)

// hearing is what people say to one agent while it works. Its methods may be called
// from several goroutines.
type hearing struct {
	hand func(id, words string) error // set before anybody says anything; nil = it takes nothing

	mu      sync.Mutex
	closed  bool
	words   map[string]*toldWord // by the ids of messages
	given   []string             // ids of those that the model was given
	refused int                  // how many never reach it
	over    chan struct{}        // closed when the agent has ended
}

type toldWord struct {
	taken chan struct{} // closed when the program said that it has it, or that it takes nothing
	known bool          // taken is closed
	why   string        // it takes nothing; "" = it has it
}

func newHearing() *hearing { return &hearing{words: map[string]*toldWord{}, over: make(chan struct{})} }

// say hands words over, each message once.
func (t *hearing) say(id, words string) (*toldWord, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.words[id] != nil:
		return t.words[id], nil
	case t.hand == nil:
		return nil, errors.New("its agent takes nothing while it works")
	case t.closed:
		return nil, errors.New("the agent is at its end")
	}
	if err := t.hand(id, words); err != nil {
		return nil, err
	}
	w := &toldWord{taken: make(chan struct{})}
	t.words[id] = w
	return w, nil
}

// took notes that the program has a message, and gave that its model was given it.
func (t *hearing) took(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.words[id]; w != nil && !w.known {
		w.known = true
		close(w.taken)
	}
}

func (t *hearing) gave(id string) {
	t.took(id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.words[id] != nil && !slices.Contains(t.given, id) {
		t.given = append(t.given, id)
	}
}

// refuse notes that a message does not reach the program.
func (t *hearing) refuse(id, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.words[id]; w != nil && !w.known {
		w.known, w.why = true, why
		t.refused++
		close(w.taken)
	}
}

// close takes nothing any more, and says whether the model is still to be given
// something.
func (t *hearing) close() (waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return len(t.given)+t.refused < len(t.words)
}

// end says that the agent has ended, and returns what its model was given.
func (t *hearing) end() []string {
	t.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.over)
	return slices.Clone(t.given)
}

// try names an attempt at an iteration.
type try struct {
	run, phase         string
	iteration, attempt int
}

// running are the agents that work.
type running struct {
	mu   sync.Mutex
	told map[try]*hearing
	more chan struct{} // closed when another one begins
}

func (r *running) begin(of try, t *hearing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told == nil {
		r.told = map[try]*hearing{}
	}
	r.told[of] = t
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

func (r *running) end(of try, t *hearing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told[of] == t {
		delete(r.told, of)
	}
}

// find waits for an agent to begin; nil when ctx ended before.
func (r *running) find(ctx context.Context, of try) *hearing {
	for {
		r.mu.Lock()
		t := r.told[of]
		if r.more == nil {
			r.more = make(chan struct{})
		}
		more := r.more
		r.mu.Unlock()
		if t != nil {
			return t
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}

// tellPatience is how long an agent may take until it has a message, with the time
// in which its iteration is made ready.
const tellPatience = time.Minute

// Tell hands a message to the agent of an iteration that is under way, and waits
// until its program has it.
func (a *Agents) Tell(ctx context.Context, req work.TellRequest) work.TellReport {
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	t := a.running.find(ctx, try{req.Run, req.Phase, req.Iteration, req.Attempt})
	if t == nil {
		return work.TellReport{Why: "its agent is not reached"}
	}
	w, err := t.say(req.ID, req.Text)
	if err != nil {
		return work.TellReport{Why: err.Error()}
	}
	select {
	case <-w.taken:
		return work.TellReport{Taken: w.why == "", Why: w.why}
	case <-t.over:
		return work.TellReport{Why: "its agent had ended"}
	case <-ctx.Done():
		return work.TellReport{Why: "its agent did not say that it has it"}
	}
}
