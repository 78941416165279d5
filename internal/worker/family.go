package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/work"
)

// family waits for the token of an outermost issue.
func (d *triager) family(ctx context.Context, root int64) (give func(), err error) {
	d.mu.Lock()
	token := d.families[root]
	if token == nil {
		token = make(chan struct{}, 1)
		d.families[root] = token
	}
	d.mu.Unlock()
	select {
	case token <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	unlock, err := d.lockFamily(ctx, root)
	if err != nil {
		<-token
		return nil, err
	}
	return func() {
		unlock()
		<-token
	}, nil
}

// lockFamily holds other processes off: they may spend the same money. The lock
// is the system's, so that it goes with the process whatever ends it.
func (d *triager) lockFamily(ctx context.Context, root int64) (unlock func(), err error) {
	name := sha256.Sum256([]byte(fmt.Sprintf("%s\x00%d", d.worker.Project, root)))
	dir := filepath.Join(d.worker.State, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock the budget of issue %d: %w", root, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("triage-%x", name[:8])), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the budget of issue %d: %w", root, err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock the budget of issue %d: %w", root, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(familyPause):
		}
	}
}

// familyPause is between two looks at a lock that another process holds.
const familyPause = 100 * time.Millisecond

// lineage is an issue with all its parents, the outermost first.
func (d *triager) lineage(ctx context.Context, i work.Issue) ([]work.Issue, error) {
	issues, parents := map[string]work.Issue{}, map[string]string{}
	for at := i; ; {
		name := strconv.FormatInt(at.ID, 10)
		issues[name] = at
		if at.Parent == 0 {
			break
		}
		up := strconv.FormatInt(at.Parent, 10)
		parents[name] = up
		if _, seen := issues[up]; seen {
			break // Lineage says so
		}
		var err error
		if at, err = d.worker.Journal.Issue(ctx, d.worker.Project, at.Parent); err != nil {
			return nil, err
		}
	}
	names, err := gates.Lineage(strconv.FormatInt(i.ID, 10), parents)
	if err != nil {
		return nil, err
	}
	var line []work.Issue
	for _, name := range names {
		line = append(line, issues[name])
	}
	return line, nil
}

// policiesOf are the policies of a lineage, each as it was chosen; the last one
// is the issue's own.
func policiesOf(p *project.Checkout, line []work.Issue) ([]gates.Policy, error) {
	var chain []gates.Policy
	for _, i := range line {
		policy, _, err := config.Policy(p.Config, config.PolicyFlags{Level: i.Level, Job: config.ValueOf(p.Config.File.Factory.DefaultPolicy)})
		if err != nil {
			return nil, err
		}
		chain = append(chain, policy)
	}
	return chain, nil
}

// bound is what an issue's parents and the ceiling let it have; nil = nothing
// bounds it.
func (d *triager) bound(p *project.Checkout, line []work.Issue) (*gates.Policy, error) {
	chain, err := policiesOf(p, line[:len(line)-1])
	if err != nil {
		return nil, err
	}
	if ceiling := p.Config.Ceiling(); ceiling != nil {
		chain = append(chain, *ceiling)
	}
	if len(chain) == 0 {
		return nil, nil
	}
	bound := gates.MeetAll(chain...)
	return &bound, nil
}

// Bound is what binds the run of an issue beside its own policy.
func (d *triager) Bound(ctx context.Context, p *project.Checkout, i work.Issue) (*gates.Policy, error) {
	line, err := d.lineage(ctx, i)
	if err != nil {
		return nil, err
	}
	return d.bound(p, line)
}
