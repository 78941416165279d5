package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// A boundary that a person looks at becomes a pull request where the project
// has a code host: the branch of the phase is proposed for the branch of the
// run, and reviews there answer the checkpoint. Forge reads the branch before
// it acts on any answer, whatever door it came by, so that no commit and no
// comment of a person is passed over; and it lets the host merge the very
// commit that was judged.

// PullPublish is a judged commit that people are to see.
type PullPublish struct {
	Marker     string // of the one pull request
	Branch     string
	Base       string // branch of the run
	BaseCommit string // its head
	From       string // commit that the change is told from
	Commit     string
	Known      []string // commits that Forge may have put on the branch
	Number     int64    // of the pull request, 0 = not known yet
	Title      string
	Paper      PullPaper
	Replies    []PullReply
	Found      []Found  // what reviewers found in it and was let stand
	Red        *RedPush // what people pushed is red: they are told
}

// Found is a finding in one commit.
type Found struct {
	Commit string
	work.Finding
}

// PullPaper is what a reviewer needs to know.
type PullPaper struct {
	Run, Phase, Checkpoint string
	Why                    string   // of the phase
	Facts                  string   // that the checkpoint is judged on
	Proof                  []string // commands that passed
	Record                 work.ProofRecord
	Doubts                 string // what reviewers and the arbiter left standing
}

// PullReply is what the agent says to one thread; Key is the same each time.
type PullReply struct {
	Thread string // "" = to all that it answered nothing in
	Key    string
	Body   string // "" = nothing: what changed there is said, if anything did
	// From is the commit that people spoke of, and To the one that they see now.
	From, To string
}

// PullPublished is what came of it.
type PullPublished struct {
	Number  int64             `json:"number,omitempty"`
	URL     string            `json:"url,omitempty"`
	Trouble *work.PullTrouble `json:"trouble,omitempty"`
}

// PullRead asks for a pull request.
type PullRead struct {
	Number int64
	Branch string
	Base   string // branch of the run, which it has to be proposed for
	Known  []string
	Last   string   // the phase's work, which people's commits are merged with
	Heard  []string // comments that an iteration was told of
	Ref    string   // folder of references that keep what is fetched
	Checks bool     // what the host's checks say of the branch is wanted
}

// PullReading is what has become of a pull request. At most one of Trouble,
// Lost and Merged is set; Commit goes with none of them.
type PullReading struct {
	Trouble  *work.PullTrouble `json:"trouble,omitempty"`
	Lost     string            `json:"lost,omitempty"`   // why it is no place to answer any more: closed, branch gone, forced
	Merged   string            `json:"merged,omitempty"` // the commit that people's merge made
	MergedBy string            `json:"merged_by,omitempty"`
	Head     string            `json:"head,omitempty"`   // of the branch
	Commit   string            `json:"commit,omitempty"` // holds people's commits and the phase's work; "" = there are no new ones
	// Conflicts are the files in which Commit holds both sides with markers.
	Conflicts []string        `json:"conflicts,omitempty"`
	Tree      string          `json:"tree,omitempty"`  // of Commit or Merged
	Files     []string        `json:"files,omitempty"` // that people changed
	By        []string        `json:"by,omitempty"`
	Todos     *work.TodoCheck `json:"todos,omitempty"` // of a job, in Commit or Merged
	// Said are the comments that are not heard yet, as text for the agent, with
	// Heard as their marks and Threads to be answered. Reviews are those of them
	// that decide.
	Said    string   `json:"said,omitempty"`
	Heard   []string `json:"heard,omitempty"`
	Threads []string `json:"threads,omitempty"`
	Reviews []string `json:"reviews,omitempty"`
	// Checks are those of Head.
	Checks *work.ChecksSeen `json:"checks,omitempty"`
}

// PullLand asks for the merge.
type PullLand struct {
	Number   int64
	Branch   string
	Head     string   // the judged commit
	Known    []string // commits that Forge may have put on the branch
	Base     string
	BaseHead string // of the run
	Commit   string // holds the proven tree; it is the result where people have merged already
	Tree     string // the proven one
	Merged   string // people have merged already
	Answered string // checkpoint that was approved; "" = nobody was asked
	Title    string
	Message  string
	Run      string
	Ref      string // of the run's head
	Keep     string // reference that keeps the head when the branch is deleted
}

// PullLanded is the result on the branch of the run.
type PullLanded struct {
	Commit  string
	Tree    string            // of Commit
	Trouble *work.PullTrouble // it is not merged, or merged to another tree: then Commit says so
}

// Pull is the pull request of a phase.
type Pull struct {
	Branch     string
	Number     int64 `json:",omitempty"` // 0 = there is none yet
	URL        string
	Commit     string            // that people see
	Checkpoint string            // that they are asked at
	Known      []string          // every commit that Forge may have put on the branch
	Publishing *PublishStarted   `json:",omitempty"` // begun, and not known to be over
	Trouble    *work.PullTrouble `json:",omitempty"` // why people do not see what is asked about
	Refused    string            // checkpoint that cannot be published in this process
	Due        *PullDueData      `json:",omitempty"` // the answer that waits for the branch to be read
	Read       *PullReading      `json:",omitempty"`
	Looked     string            // commit before whose question the branch was read
	Approved   string            // commit that a person approved
	Answered   string            // checkpoint that was approved
	Taken      string            // commit that holds people's own
	By         []string          `json:",omitempty"` // who they are
	Told       string            // why it is asked again
	Lost       string            // why it is no place to answer any more
	Merged     string            // people merged it to this commit
	Rounds     int               // how often it was asked again
	Heard      []string          // comments and reviews that were told to the agent, or acted upon
	Last       []string          // reviews that the last answer rests on
	Owed       []string          // threads that the agent's answer is due at
	Said       string            // the agent's last words
	Answers    map[string]string `json:",omitempty"` // that it gave in single threads of Owed
}

// Conflict is a conflict between people's commits and the phase's own work, which
// its next iteration begins with.
type Conflict struct {
	Head   string // people's
	Commit string // holds both, with markers
	Files  []string
}

// live says that the pull request is where the phase lands.
func (u *Pull) live() bool { return u != nil && u.Number != 0 && u.Lost == "" }

// knows notes a commit that Forge may put on the branch.
func (u *Pull) knows(commit string) {
	if commit != "" && !slices.Contains(u.Known, commit) {
		u.Known = append(slices.Clip(u.Known), commit)
	}
}

// marked are the files of p in which a conflict's markers stood last.
func (p *Phase) marked() []string {
	if p.Conflict != nil {
		return p.Conflict.Files
	}
	return p.Marked
}

// pullBranch is the name of a phase's branch.
func (s *State) pullBranch(p *Phase, rev int) string {
	kind := p.Plan.Kind
	if kind == "" {
		kind = work.KindTactical
	}
	number := strings.TrimLeft(p.Number, "0")
	if number == "" || strings.HasPrefix(number, ".") {
		number = "0" + number
	}
	name := fmt.Sprintf("forge/phases/%s/phase-%s-%s", s.Run, number, kind)
	if rev > 1 {
		name += fmt.Sprintf("-rev-%d", rev)
	}
	return name
}

// propose makes sure that p has a branch to be shown on: another one when what
// became of the last cannot be gone on with.
func (s *State) propose(p *Phase) {
	u := p.Pull
	if s.Spec.Pulls == nil || p.Parent != "" || p.AskedAt != StageProven {
		return
	}
	if u == nil || u.Lost != "" && u.Commit != p.Last || u.Merged != "" && u.Merged != p.Last {
		s.leavePull(p, "Forge goes on with this elsewhere.")
		p.PullRev++
		was := u
		p.Pull = &Pull{Branch: s.pullBranch(p, p.PullRev), Heard: u.mended()}
		if was != nil && was.Taken == p.Last && was.Merged == "" {
			p.Pull.Taken, p.Pull.By = was.Taken, was.By // it is people's wherever it is shown
		}
	}
}

// openOf is the open question about p.
func (s *State) openOf(p *Phase) *work.Checkpoint {
	for _, cp := range s.Open {
		if cp.Phase == p.Number {
			return cp
		}
	}
	return nil
}

// pendingPull is what is to be done about p's pull request.
func (s *State) pendingPull(p *Phase) (Command, bool) {
	u := p.Pull
	if u == nil || p.Stage != StageAsked && p.Stage != StagePull {
		return Command{}, false
	}
	c := Command{Phase: p.Number, Iteration: p.Iteration, Attempt: p.PullTries + 1, Step: StepPublish}
	want := u.Publishing
	if cp := s.openOf(p); want == nil && p.Stage == StageAsked && p.AskedAt == StageProven && cp != nil &&
		u.Checkpoint != cp.ID && u.Refused != cp.ID && u.Lost == "" && u.Merged == "" {
		want = &PublishStarted{Checkpoint: cp.ID, Commit: p.Last}
	}
	switch {
	case want != nil:
		c.Commit, c.Checkpoint = want.Commit, want.Checkpoint
	case p.Stage == StagePull && u.Read == nil && u.Number != 0:
		c.Step, c.Commit = StepPull, p.Last
	default:
		return Command{}, false
	}
	c.ID = s.id(p.Number, c.Attempt, c.Iteration, string(c.Step)+"-"+text.Short(c.Commit))
	return c, true
}
