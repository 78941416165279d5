package hosttest

import (
	"fmt"
	"testing"
	"time"

	"forge/internal/work"
)

// People are those of the project.
func (g *GitLab) People() People { return gitlabPeople{g} }

type gitlabPeople struct{ g *GitLab }

func (p gitlabPeople) with(number int64, do func(*glMerge)) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.refresh()
	m := p.g.merges[number-1]
	p.g.touch(m)
	p.g.tick()
	do(m)
	p.g.touch(m)
}

// Review writes what a review is made of on GitLab: notes at lines, a note with its
// words, and one that says what was decided. One that decides nothing has none.
func (p gitlabPeople) Review(_ testing.TB, who string, number int64, head string, verdict work.PullVerdict, body string, lines ...Line) {
	was := p.updated(number)
	defer func() {
		if body == "" && len(lines) == 0 {
			p.set(number, was) // a vote alone may be no change of its time
		}
	}()
	p.with(number, func(m *glMerge) {
		for _, l := range lines {
			n := p.g.alone(m, who, l.Body, false)
			v := m.versions[len(m.versions)-1]
			n["type"] = "DiffNote"
			n["position"] = map[string]any{"position_type": "text", "base_sha": v.base, "start_sha": v.base, "head_sha": head, "old_path": l.Path, "new_path": l.Path, "old_line": nil, "new_line": l.Line}
		}
		if body != "" {
			p.g.alone(m, who, body, false)
		}
		switch verdict {
		case work.PullApproved:
			delete(m.requested, who)
			m.approved[who] = p.g.clock
			p.g.alone(m, who, "approved this merge request", true)
		case work.PullChangesRequested:
			delete(m.approved, who)
			m.requested[who] = p.g.clock
			p.g.alone(m, who, "requested changes", true)
		}
	})
}

func (p gitlabPeople) updated(number int64) time.Time {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.refresh()
	return p.g.merges[number-1].updated
}

func (p gitlabPeople) set(number int64, updated time.Time) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.merges[number-1].updated = updated
}

func (p gitlabPeople) Say(_ testing.TB, who string, number int64, body string) {
	p.with(number, func(m *glMerge) { p.g.alone(m, who, body, false) })
}

// note is one by its number, with who wrote it.
func (m *glMerge) note(id string) map[string]any {
	for _, d := range m.discussions {
		for _, n := range d.notes {
			if fmt.Sprint(n["id"]) == id {
				return n
			}
		}
	}
	return nil
}

// Dismiss takes a decision back.
func (p gitlabPeople) Dismiss(t testing.TB, number int64, review string) {
	p.with(number, func(m *glMerge) {
		n := m.note(review)
		if n == nil {
			t.Errorf("there is no decision %s", review)
			return
		}
		who, _ := n["author"].(map[string]any)["username"].(string)
		delete(m.approved, who)
		delete(m.requested, who)
		p.g.alone(m, who, "unapproved this merge request", true)
	})
}

func (p gitlabPeople) Resolve(_ testing.TB, number int64, thread string) {
	p.with(number, func(m *glMerge) { m.note(thread)["resolved"] = true })
}

func (p gitlabPeople) OpenIssue(_ testing.TB, title, body string) int64 {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.issues = append(p.g.issues, map[string]any{"title": title, "description": body})
	return int64(len(p.g.issues))
}

func (p gitlabPeople) Rewrite(_ testing.TB, number int64, body string) {
	p.with(number, func(m *glMerge) { m.description = body })
}

func (p gitlabPeople) Close(_ testing.TB, number int64) {
	p.with(number, func(m *glMerge) { m.state = "closed" })
}

func (p gitlabPeople) Reopen(_ testing.TB, number int64) {
	p.with(number, func(m *glMerge) { m.state = "opened" })
}

func (p gitlabPeople) Retarget(_ testing.TB, who string, number int64, base string) {
	p.with(number, func(m *glMerge) {
		p.g.alone(m, who, "changed target branch from `"+m.target+"` to `"+base+"`", true)
		m.target, m.asked = base, false
	})
}

func (p gitlabPeople) MergeByHand(t testing.TB, number int64) {
	p.with(number, func(m *glMerge) {
		if !p.g.squash(m, "ann", "by hand") {
			t.Error("the merge request cannot be merged by hand")
		}
	})
}

func (p gitlabPeople) Protect(_ testing.TB, branch string, approvals int, _ string) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.protected[branch], p.g.onlyGreen = approvals, true
}

func (p gitlabPeople) Status(_ testing.TB, commit, check, state string) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	word := map[string]string{"failure": "failed", "error": "canceled", "success": "success", "pending": "pending"}[state]
	p.g.statuses[commit] = append(p.g.statuses[commit], map[string]any{
		"id": p.g.id(), "name": check, "status": word, "description": check + " is " + state, "target_url": "https://ci.example.com/" + check, "created_at": glTime(p.g.tick()), "allow_failure": false,
	})
}

func (p gitlabPeople) Archive(testing.TB) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.archived = true
}

func (p gitlabPeople) Remove(_ testing.TB, who string) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.levels[who] = 20
}
