package temporal

import "sync"

// Quota is how many effects a worker carries out before it ends. Those that came to it
// and did not begin are done by another worker.
type Quota struct {
	mu   sync.Mutex
	left int
	full chan struct{}
}

// NewQuota is one of n effects, nil = without end, for n = 0.
func NewQuota(n int) *Quota {
	if n <= 0 {
		return nil
	}
	return &Quota{left: n, full: make(chan struct{})}
}

// take says whether one more may begin.
func (q *Quota) take() bool {
	if q == nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left == 0 {
		return false
	}
	if q.left--; q.left == 0 {
		close(q.full)
	}
	return true
}

// Full is closed when no more may begin; nil = never.
func (q *Quota) Full() <-chan struct{} {
	if q == nil {
		return nil
	}
	return q.full
}
