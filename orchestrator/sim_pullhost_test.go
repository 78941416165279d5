package orchestrator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"forge/internal/work"
)

// simHost is a code host: what it does, it has done, whether Forge hears of it
// or not.
type simHost struct {
	w     *world
	base  string              // commit of the run's branch, "" = none
	pulls map[string]*simPull // by marker
	said  int
	// parents are of the commits that may come to stand on a branch.
	parents map[string][]string
	wrong   error // that Forge did, in truth
	merges  map[string]MergeFinishedData
	unheard map[string]int      // branch → closes that came to nothing
	read    map[*simPull]string // how its checks were when it was read last
}

// grew notes that a commit grows out of others.
func (h *simHost) grew(commit string, from ...string) {
	for _, f := range from {
		if f != commit && f != "" && !slices.Contains(h.parents[commit], f) {
			h.parents[commit] = append(h.parents[commit], f)
		}
	}
}

// holds says that a commit is another, or grew out of it.
func (h *simHost) holds(commit, old string) bool {
	return commit == old || slices.ContainsFunc(h.parents[commit], func(p string) bool { return h.holds(p, old) })
}

// move puts a branch where Forge wants it.
func (h *simHost) move(u *simPull, to string) {
	if !h.holds(to, u.head) {
		h.wrong = fmt.Errorf("branch %s moves from %s to %s, which does not hold it", u.branch, u.head, to)
	}
	u.head, u.top = to, ""
}

// simPull is a pull request with its branch.
type simPull struct {
	number        int64
	phase, branch string
	head          string // "" = the branch is gone
	top           string // the commit of Forge's that people pushed on, "" = they did not
	forced        bool
	closed        bool
	merged        string // commit
	mergedHead    string
	comments      []string
	replies       map[string]int
	shut          bool     // Forge closed it
	red           string   // head whose checks fail
	failed        []string // heads whose checks failed once
}

// Close closes what is open, once.
func (h *simHost) Close(_ context.Context, req PullClose) (*work.PullTrouble, error) {
	if t := h.lost(20); t != nil {
		h.unheard[req.Branch]++
		return t, nil
	}
	u := h.pulls[req.Marker]
	if u == nil || u.closed || u.merged != "" {
		return nil, nil
	}
	for _, p := range h.w.s.Phases {
		if p.Pull != nil && p.Pull.Branch == u.branch {
			h.wrong = fmt.Errorf("branch %s is given up, and phase %s is still shown on it", u.branch, p.Number)
		}
	}
	u.closed, u.shut = true, true
	if t := h.lost(10); t != nil {
		h.unheard[req.Branch]++
		return t, nil
	}
	return nil, nil
}

// left: at the end of a run no pull request is open but that of a phase which
// may be worked on again, and those that the host did not close when it was
// asked to.
func (h *simHost) left(s *State, e work.Event) error {
	var d work.RunFinishedData
	if err := decode(e, &d); err != nil || !d.Outcome.Final() {
		return err
	}
	for _, marker := range slices.Sorted(maps.Keys(h.pulls)) {
		u := h.pulls[marker]
		said := slices.ContainsFunc(s.Leaving, func(l Leaving) bool { return l.Branch == u.branch && l.Left != nil })
		if u.closed || u.merged != "" || h.unheard[u.branch] > 0 && said {
			continue
		}
		again := false
		for _, p := range s.Phases {
			again = again || p.Outcome == work.PhaseFailed && p.Reason != work.ReasonRejected && p.Pull != nil && p.Pull.Branch == u.branch
		}
		if d.Outcome != work.RunFailed || !again {
			return fmt.Errorf("the run ends %s, and the pull request on %s is open", d.Outcome, u.branch)
		}
	}
	return nil
}

func (u *simPull) open() bool { return !u.closed && u.merged == "" && u.head != "" && !u.forced }

func (h *simHost) trouble(kind work.HostKind, passes bool) *work.PullTrouble {
	h.w.fault("host: " + string(kind))
	return &work.PullTrouble{Kind: kind, What: h.w.text(string(kind)), Fix: "mend it", Passes: passes}
}

// lost is a request that does not come through.
func (h *simHost) lost(percent int) *work.PullTrouble {
	if h.w.chance(percent) {
		return h.trouble(work.HostUnreachable, true)
	}
	return nil
}

func (h *simHost) Publish(_ context.Context, req PullPublish) (PullPublished, error) {
	if t := h.lost(8); t != nil {
		return PullPublished{Trouble: t}, nil
	}
	u := h.pulls[req.Marker]
	if h.base == "" || h.w.treeOf(h.base) != nil && !h.handMerged() {
		h.base = req.BaseCommit
	}
	switch {
	case u == nil:
		for _, other := range h.pulls {
			if other.phase == req.Paper.Phase && other.open() {
				h.wrong = fmt.Errorf("phase %s gets a second pull request beside %s", req.Paper.Phase, other.branch)
			}
		}
		u = &simPull{number: int64(len(h.pulls) + 1), phase: req.Paper.Phase, branch: req.Branch, head: req.Commit, replies: map[string]int{}}
		h.pulls[req.Marker] = u
	case u.closed || u.merged != "" || u.head == "":
		return PullPublished{Trouble: h.trouble(work.HostPullClosed, false)}, nil
	case u.head == req.Commit:
	case slices.Contains(req.Known, u.head):
		h.move(u, req.Commit)
	default:
		return PullPublished{Trouble: h.trouble(work.HostHeadMoved, false)}, nil
	}
	for _, r := range req.Replies {
		u.replies[r.Thread] = 1
	}
	if t := h.lost(8); t != nil {
		return PullPublished{Trouble: t}, nil
	}
	return PullPublished{Number: u.number, URL: h.w.text("https://git.test/1")}, nil
}

// handMerged says that people merged something that Forge has not taken over.
func (h *simHost) handMerged() bool {
	for _, u := range h.pulls {
		if u.merged != "" && u.merged == h.base {
			return true
		}
	}
	return false
}

func (h *simHost) byNumber(n int64) *simPull {
	for _, u := range h.pulls {
		if u.number == n {
			return u
		}
	}
	return nil
}

func (h *simHost) Read(_ context.Context, req PullRead) (PullReading, error) {
	u := h.byNumber(req.Number)
	if t := h.lost(10); t != nil || u == nil {
		return PullReading{Trouble: t}, nil
	}
	var out PullReading
	for _, id := range u.comments {
		if !slices.Contains(req.Heard, id) {
			out.Heard = append(out.Heard, id)
			out.Said += "[" + id + "]\n"
			out.Threads = append(out.Threads, id)
		}
	}
	if h.read[u] = "green"; req.Checks {
		out.Checks = &work.ChecksSeen{}
		if u.red == u.head && u.red != "" {
			h.read[u], out.Checks.Failed = "red", []string{"unit"}
			if id := work.ChecksMark(u.head); !slices.Contains(req.Heard, id) {
				out.Heard, out.Said = append(out.Heard, id), out.Said+"["+id+"]\n"
			}
		}
	}
	switch {
	case u.merged != "":
		out.Merged, out.MergedBy, out.Tree = u.merged, "ann", h.w.commits[u.merged]
	case u.closed:
		out.Lost = "it was closed"
	case u.head == "":
		out.Lost = "the branch is gone"
	case u.forced:
		out.Lost = "the branch was forced"
	case slices.Contains(req.Known, u.head), u.head == req.Last:
		out.Head = u.head
	case u.top == req.Last:
		out.Head, out.Commit = u.head, u.head
	default:
		h.w.fault("people and the agent worked beside each other")
		tree := h.w.newTree()
		if h.w.chance(50) {
			h.w.fault("people and the agent conflict")
			h.w.trees[tree].marked, out.Conflicts = true, h.w.texts(1+h.w.IntN(30), "a.txt")
		}
		out.Head, out.Commit = u.head, h.w.commit(tree)
		h.grew(out.Commit, req.Last, u.head)
	}
	if out.Commit != "" {
		out.Tree, out.Files, out.By = h.w.commits[out.Commit], h.w.texts(1+h.w.IntN(30), "a.txt"), []string{"ann"}
		h.w.trees[out.Tree].todos = h.w.treeOf(req.Last).todos
	}
	return out, nil
}

func (h *simHost) Land(_ context.Context, req PullLand) (PullLanded, error) {
	u := h.byNumber(req.Number)
	if t := h.lost(8); t != nil {
		return PullLanded{Trouble: t}, nil
	}
	done := func() (PullLanded, error) {
		h.base = u.merged
		if req.Merged != "" {
			h.base = req.Commit
		}
		return PullLanded{Commit: h.base, Tree: h.w.commits[h.base]}, nil
	}
	switch {
	case req.Merged != "" && u.merged == req.Merged:
		return done()
	case u.merged != "" && u.mergedHead == req.Head:
		return done()
	case u.merged != "":
		return PullLanded{Trouble: h.trouble(work.HostPullMerged, false)}, nil
	case u.closed:
		return PullLanded{Trouble: h.trouble(work.HostPullClosed, false)}, nil
	case u.head == "":
		return PullLanded{Trouble: h.trouble(work.HostBranchGone, false)}, nil
	case h.w.chance(5):
		return PullLanded{Trouble: h.trouble(work.HostProtected, false)}, nil
	}
	if u.head != req.Head && slices.Contains(req.Known, u.head) && !u.forced {
		h.move(u, req.Head)
	}
	if u.head != req.Head {
		return PullLanded{Trouble: h.trouble(work.HostHeadMoved, false)}, nil
	}
	tree := req.Tree
	if h.w.chance(4) {
		h.w.fault("the host merges to another tree")
		tree = h.w.commits[h.grown(req.Head)]
	}
	u.merged, u.mergedHead, u.head = h.w.commit(tree), u.head, ""
	if t := h.lost(5); t != nil {
		return PullLanded{Trouble: t}, nil
	}
	return done()
}

// simFixes is of how many heads an agent is told that their checks fail.
const simFixes = 1

// people do one thing at the host.
func (h *simHost) people() {
	if len(h.pulls) == 0 {
		return
	}
	u := h.pulls[pick(h.w, h.pulls)]
	if !u.open() {
		return
	}
	switch x := h.w.IntN(130); {
	case x >= 120 && u.red == u.head:
		h.w.fault("checks ran again")
		u.red = ""
	case x >= 100:
		h.w.fault("checks fail")
		u.red = u.head
		u.failed = append(u.failed, u.head)
	case x < 35:
		h.w.fault("people push")
		if u.top == "" {
			u.top = u.head
		}
		u.head = h.grown(u.head)
	case x < 75:
		h.said++
		u.comments = append(u.comments, fmt.Sprintf("said-%d", h.said))
	case x < 80:
		h.w.fault("people close it")
		u.closed = true
	case x < 85:
		h.w.fault("people delete the branch")
		u.head = ""
	case x < 90:
		h.w.fault("people force the branch")
		u.forced, u.head = true, h.w.commit(h.w.newTree())
	default:
		h.w.fault("people merge it")
		at := u.head
		if h.w.chance(40) {
			at = h.grown(at)
		}
		u.merged, u.mergedHead, u.head = h.w.commit(h.w.commits[at]), u.head, ""
		h.base = u.merged
	}
}

// grown is a commit on another with new content and the same todos.
func (h *simHost) grown(from string) string {
	c := h.w.commit(h.w.newTree())
	h.w.treeOf(c).todos = h.w.treeOf(from).todos
	h.grew(c, from)
	return c
}

// looksAt lets some answers be of somebody who looked at the branch.
func (h *simHost) looksAt(cp work.Checkpoint, a *work.Answer) {
	for _, marker := range slices.Sorted(maps.Keys(h.pulls)) {
		if u := h.pulls[marker]; u.phase == cp.Phase && u.open() && h.w.chance(60) {
			a.Head, a.Door = u.head, "pull request"
			// The watch answers nothing but what the pull request shows.
			p := h.w.s.Phases[cp.Phase]
			shown := p != nil && p.Pull != nil && p.Pull.Checkpoint == cp.ID && p.Pull.Number == u.number && p.AskedAt == StageProven && !p.peoples()
			if shown && (u.red == u.head || h.w.chance(5)) && h.w.chance(60) {
				h.w.fault("checks send it back")
				a.Status, a.Choice, a.Comment, a.Checks, a.By = work.CheckpointChangesRequested, "", "the checks fail", u.head, "the host's checks"
			}
		}
	}
}
