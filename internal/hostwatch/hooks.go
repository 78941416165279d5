package hostwatch

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/internal/host"
	"forge/internal/project"
	"forge/orchestrator"
)

// pullHints are pull requests and branches of which something was told.
type pullHints struct {
	numbers  map[int64]bool
	branches map[string]bool
}

func (h pullHints) empty() bool { return len(h.numbers)+len(h.branches) == 0 }

func (h pullHints) names(u orchestrator.Pull) bool {
	return h.numbers[u.Number] || h.branches[u.Branch]
}

func (h pullHints) drop(u orchestrator.Pull) {
	delete(h.numbers, u.Number)
	delete(h.branches, u.Branch)
}

// Hints keeps what webhooks point at until the watch looks. It may be used
// by several goroutines.
type Hints struct {
	wake chan struct{}
	mu   sync.Mutex
	also chan<- struct{} // that each wakes, too
	told pullHints
}

func newHints() *Hints {
	h := &Hints{wake: make(chan struct{}, 1)}
	h.take()
	return h
}

// Add notes what a webhook points at, and wakes the watch. A push to a branch
// that is none of a run's, or a ping, wakes it for nothing: it asks the host
// nothing then.
func (h *Hints) Add(hint host.Hint) {
	one := pullHints{map[int64]bool{}, map[string]bool{}}
	if hint.Number > 0 {
		one.numbers[hint.Number] = true
	}
	if hint.Branch != "" {
		one.branches[hint.Branch] = true
	}
	h.back(one)
	h.Poke()
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.also <- struct{}{}:
	default: // nobody is there, or is to look already
	}
}

// WakeAlso has each hint wake also who looks at the same repository for something else.
func (h *Hints) WakeAlso(who chan<- struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.also = who
}

// Poke lets the watch look at what it was told before.
func (h *Hints) Poke() {
	select {
	case h.wake <- struct{}{}:
	default: // it is to look already
	}
}

// Empty says that nothing is left to be looked at.
func (h *Hints) Empty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.told.empty()
}

// back adds hints, such as those that were taken in vain.
func (h *Hints) back(more pullHints) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.Copy(h.told.numbers, more.numbers)
	maps.Copy(h.told.branches, more.branches)
}

func (h *Hints) take() pullHints {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.told
	h.told = pullHints{map[int64]bool{}, map[string]bool{}}
	return all
}

// Hooks takes the webhooks of the repositories that are watched. They are
// hints: none says anything that is believed, each only lets one pull request
// be looked at now instead of later.
type Hooks struct {
	Env project.Env

	mu      sync.Mutex
	watches []*Watch // that have a secret
	counted map[string]int
	said    map[string]time.Time
}

// Add takes the webhooks of a watch from now on; without a secret it has none.
func (h *Hooks) Add(w *Watch) {
	if w.secret == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches = append(h.watches, w)
}

// all are the watches whose webhooks are taken.
func (h *Hooks) all() []*Watch {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.watches)
}

// hookTaken is the word under which webhooks are counted that were not refused.
const hookTaken = "taken"

// sayRefused is how often a log names one reason for which webhooks are refused.
const sayRefused = time.Minute

// ServeHTTP answers a delivery; there is nothing here while no watch takes any. Who cannot sign learns nothing.
func (h *Hooks) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if len(h.all()) == 0 {
		http.NotFound(w, req)
		return
	}
	status, why := h.take(req)
	h.count(why)
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	http.Error(w, http.StatusText(status), status)
}

// take is what becomes of a delivery, and the word that it is counted under.
func (h *Hooks) take(req *http.Request) (status int, why string) {
	if req.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, "not a delivery"
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, host.MaxHookBytes))
	if errors.As(err, new(*http.MaxBytesError)) {
		return http.StatusRequestEntityTooLarge, "too large"
	}
	if err != nil {
		return http.StatusBadRequest, "cut off"
	}
	status, why = http.StatusForbidden, "unsigned"
	other := map[string]bool{} // secrets that it is not signed with
	for _, w := range h.all() {
		if other[w.secret] {
			continue
		}
		hint, err := host.ReadHook(w.secret, req.Header, body)
		switch {
		case errors.Is(err, host.ErrHookUnsigned):
			other[w.secret] = true
			continue
		case err != nil:
			return http.StatusBadRequest, "not readable"
		case !strings.EqualFold(hint.Repo, w.At.Repo):
			if status == http.StatusForbidden {
				status, why = http.StatusNotFound, "of another repository"
			}
			continue
		}
		name := fmt.Sprintf("host %s/%s %s", w.At.URL, w.At.Repo, w.p.Base.RepoRoot)
		fresh, err := w.p.Journal.NewHook(req.Context(), name, hint.Known)
		if err != nil {
			h.Env.Log.Warn("remember a webhook", "err", err)
			return http.StatusServiceUnavailable, "not remembered" // the next poll has it
		}
		if status, why = http.StatusNoContent, hookTaken; !fresh {
			why = "repeated" // the host hears that it came
			continue
		}
		w.hints.Add(hint)
	}
	return status, why
}

// count counts a webhook, and says now and then why such are refused.
func (h *Hooks) count(why string) {
	now := h.Env.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.counted == nil {
		h.counted, h.said = map[string]int{}, map[string]time.Time{}
	}
	h.counted[why]++
	if last := h.said[why]; why != hookTaken && (last.IsZero() || now.Sub(last) >= sayRefused) {
		h.said[why] = now
		h.Env.Log.Warn("refused a webhook", "why", why, "so far", h.counted[why])
	}
}

// Figures are counts for monitors, to which none taken is a figure too; nil = no
// watch takes any.
func (h *Hooks) Figures() map[string]int {
	if len(h.all()) == 0 {
		return nil
	}
	out := map[string]int{hookTaken: 0}
	maps.Copy(out, h.counts())
	return out
}

// counts are the webhooks that came, by what became of them; nil = none did.
func (h *Hooks) counts() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.counted)
}
