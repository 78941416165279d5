package journaltest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"forge/internal/journal"
	"forge/internal/work"
)

// memoryFloor is who works on a memoryBoard, and how that is to go on.
type memoryFloor struct {
	claims  map[int64]work.IssueClaim // with the epochs of those that were given back
	floor   work.Floor
	servers map[string]work.Server
}

func (m *MemoryBoard) floor(project string) *memoryFloor {
	if m.floors == nil {
		m.floors = map[string]*memoryFloor{}
	}
	if m.floors[project] == nil {
		m.floors[project] = &memoryFloor{claims: map[int64]work.IssueClaim{}, servers: map[string]work.Server{}}
	}
	return m.floors[project]
}

func (m *MemoryBoard) now() time.Time {
	if m.Clock != nil {
		return m.Clock().UTC()
	}
	return time.Now().UTC()
}

// ClaimIssue is as of *journal.Store.
func (m *MemoryBoard) ClaimIssue(ctx context.Context, owner journal.Owner, seen work.IssueClaim, c work.BoardChange) (work.IssueClaim, work.Issue, error) {
	if err := journal.CheckClaim(owner.ID, seen, c); err != nil {
		return work.IssueClaim{}, work.Issue{}, err
	}
	m.floorMu.Lock()
	defer m.floorMu.Unlock()
	f := m.floor(c.Project)
	stored := f.claims[seen.Issue]
	if stored.Owner != seen.Owner || seen.Owner != "" && stored.Epoch != seen.Epoch {
		return work.IssueClaim{}, work.Issue{}, fmt.Errorf("%w: the claim", work.ErrStale)
	}
	issues, err := m.ChangeBoard(ctx, c)
	if err != nil {
		return work.IssueClaim{}, work.Issue{}, err
	}
	claim := work.IssueClaim{Project: c.Project, Issue: seen.Issue, Epoch: stored.Epoch + 1, Owner: owner.ID, PID: owner.PID, Host: owner.Host, Heartbeat: m.now()}
	f.claims[seen.Issue] = claim
	return claim, issues[0], nil
}

// held is whether a claim is its owner's still.
func (f *memoryFloor) held(c work.IssueClaim) bool {
	stored := f.claims[c.Issue]
	return stored.Epoch == c.Epoch && stored.Owner == c.Owner && c.Owner != ""
}

// ChangeClaimed is as of *journal.Store.
func (m *MemoryBoard) ChangeClaimed(ctx context.Context, claim work.IssueClaim, c work.BoardChange) (work.Issue, error) {
	return m.underClaim(ctx, claim, &c, nil)
}

// EndClaim is as of *journal.Store.
func (m *MemoryBoard) EndClaim(ctx context.Context, claim work.IssueClaim, c *work.BoardChange, later time.Time) (work.Issue, error) {
	return m.underClaim(ctx, claim, c, &later)
}

func (m *MemoryBoard) underClaim(ctx context.Context, claim work.IssueClaim, c *work.BoardChange, later *time.Time) (i work.Issue, err error) {
	if c != nil {
		if err := journal.CheckClaim(claim.Owner, claim, *c); err != nil {
			return i, err
		}
	}
	m.floorMu.Lock()
	defer m.floorMu.Unlock()
	f := m.floor(claim.Project)
	if !f.held(claim) {
		return i, fmt.Errorf("%w: issue %d", work.ErrNotClaimed, claim.Issue)
	}
	if c != nil {
		issues, err := m.ChangeBoard(ctx, *c)
		if err != nil {
			return i, err
		}
		i = issues[0]
	}
	stored := f.claims[claim.Issue]
	stored.Heartbeat = m.now()
	if later != nil {
		stored.Owner, stored.Later = "", later.UTC()
		if later.IsZero() {
			stored.Later = time.Time{}
		}
	}
	f.claims[claim.Issue] = stored
	return i, nil
}

// KeepClaims is as of *journal.Store.
func (m *MemoryBoard) KeepClaims(_ context.Context, claims []work.IssueClaim) (lost []work.IssueClaim, err error) {
	m.floorMu.Lock()
	defer m.floorMu.Unlock()
	for _, c := range claims {
		f := m.floor(c.Project)
		if !f.held(c) {
			lost = append(lost, c)
			continue
		}
		stored := f.claims[c.Issue]
		stored.Heartbeat = m.now()
		f.claims[c.Issue] = stored
	}
	return lost, nil
}

// Claims is as of *journal.Store.
func (m *MemoryBoard) Claims(_ context.Context, project string) (map[int64]work.IssueClaim, error) {
	m.floorMu.Lock()
	defer m.floorMu.Unlock()
	out := maps.Clone(m.floor(project).claims)
	maps.DeleteFunc(out, func(_ int64, c work.IssueClaim) bool { return c.Owner == "" && c.Later.IsZero() })
	for id, c := range out {
		if c.Owner == "" {
			c.PID, c.Host = 0, ""
		}
		c.Dead = c.Owner != "" && m.Dead[c.Owner]
		out[id] = c
	}
	return out, nil
}

// Floor is as of *journal.Store.
func (m *MemoryBoard) Floor(_ context.Context, project string) (work.Floor, error) {
	m.floorMu.Lock()
	defer m.floorMu.Unlock()
	f := m.floor(project).floor
	f.Breakers = maps.Clone(f.Breakers)
	return f, nil
}

// SetFloor is as of *journal.Store.
func (m *MemoryBoard) SetFloor(_ context.Context, project string, to work.Floor) error {
	m.floorMu.Lock()
	defer m.floorMu.Unlock()
	f := m.floor(project)
	if f.floor.Version != to.Version {
		return fmt.Errorf("%w: the floor", work.ErrStale)
	}
	to.Version++
	f.floor = to
	return nil
}

// Claimer is a board for one owner, as a loop sees it. Two of them on one board
// are two processes.
type Claimer struct {
	Board *MemoryBoard
	Owner string
	seen  int64
}

// Claims is as of *journal.Store.
func (c *Claimer) Claims(ctx context.Context, project string) (map[int64]work.IssueClaim, error) {
	return c.Board.Claims(ctx, project)
}

// Claim is as of *journal.Store, for the owner.
func (c *Claimer) Claim(ctx context.Context, seen work.IssueClaim, change work.BoardChange) (work.IssueClaim, work.Issue, error) {
	return c.Board.ClaimIssue(ctx, journal.Owner{ID: c.Owner, PID: 1, Host: "here"}, seen, change)
}

// Change is as of *journal.Store.
func (c *Claimer) Change(ctx context.Context, claim work.IssueClaim, change work.BoardChange) (work.Issue, error) {
	return c.Board.ChangeClaimed(ctx, claim, change)
}

// End is as of *journal.Store.
func (c *Claimer) End(ctx context.Context, claim work.IssueClaim, change *work.BoardChange, later time.Time) (work.Issue, error) {
	return c.Board.EndClaim(ctx, claim, change, later)
}

// Keep is as of *journal.Store.
func (c *Claimer) Keep(ctx context.Context, claims []work.IssueClaim) ([]work.IssueClaim, error) {
	return c.Board.KeepClaims(ctx, claims)
}

// Floor is as of *journal.Store.
func (c *Claimer) Floor(ctx context.Context, project string) (work.Floor, error) {
	return c.Board.Floor(ctx, project)
}

// SetFloor is as of *journal.Store.
func (c *Claimer) SetFloor(ctx context.Context, project string, f work.Floor) error {
	return c.Board.SetFloor(ctx, project, f)
}

// Serve is as of *journal.Store, for the owner.
func (c *Claimer) Serve(_ context.Context, project, note string) error {
	c.Board.floorMu.Lock()
	defer c.Board.floorMu.Unlock()
	c.Board.floor(project).servers[c.Owner] = work.Server{Owner: c.Owner, Heartbeat: c.Board.now(), Note: note}
	return nil
}

// Leave is as of *journal.Store, for the owner.
func (c *Claimer) Leave(_ context.Context, project string) error {
	c.Board.floorMu.Lock()
	defer c.Board.floorMu.Unlock()
	delete(c.Board.floor(project).servers, c.Owner)
	return nil
}

// Servers are the notes of those who serve a project, by owner.
func (m *MemoryBoard) Servers(project string) map[string]string {
	m.floorMu.Lock()
	defer m.floorMu.Unlock()
	out := map[string]string{}
	for owner, s := range m.floor(project).servers {
		out[owner] = s.Note
	}
	return out
}

// Changed says whether a line of history or the floor is new since the last call.
func (c *Claimer) Changed(context.Context) (bool, error) {
	c.Board.floorMu.Lock()
	now := int64(0)
	for _, f := range c.Board.floors {
		now += f.floor.Version
	}
	c.Board.floorMu.Unlock()
	c.Board.mu.Lock()
	now += c.Board.seq
	c.Board.mu.Unlock()
	changed := now != c.seen
	c.seen = now
	return changed, nil
}

// IssueCounts is as of *journal.Store.
func (m *MemoryBoard) IssueCounts(_ context.Context, project string) (map[work.Column]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.board(project)
	if err != nil {
		return nil, err
	}
	counts := map[work.Column]int{}
	for _, i := range b.issues {
		counts[i.Column]++
	}
	return counts, nil
}
