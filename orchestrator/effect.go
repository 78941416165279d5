package orchestrator

import (
	"fmt"
	"slices"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// Effect is one command with everything that carrying it out takes, as plain
// values: one of the types below. What a machine has of its own is not in it:
// where folders and logs are, which paths are shown and hidden, the mark of the
// processes. In the requests those fields are empty.
type Effect interface {
	// Of is the command that is carried out.
	Of() Command
	effect()
}

// FolderEffect makes the folder of a phase. Its fact is FolderDone.
type FolderEffect struct {
	Command Command
	Opening Opening
}

// Opening is how a phase folder is made.
type Opening struct {
	Run   string
	Base  string // commit that setup runs on: of the run branch, no agent's own
	Last  string // commit that the folder holds afterwards
	Setup work.SetupRequest
}

// IterateEffect is one iteration of an agent. Its fact is IterationDone.
type IterateEffect struct {
	Command Command
	Request work.IterationRequest
	Fresh   string // prompt of a new session, where the agent forgot the one to continue
	Opening Opening
	Parent  string   // of the snapshot
	Reset   bool     // the folder is set back to Opening.Last first
	Head    string   // resolve: the run head, or people's commits; "" = nothing to resolve
	Theirs  string   // resolve: the phase's last snapshot
	Marked  []string // files in which a conflict's markers stood before
	Todos   bool     // of a job: read them in the snapshot
	Measure string   `json:",omitempty"` // of a try: how much its work changes since this commit
	Done    []string // of them that were done before
	// Feedback is what people said of the job so far.
	Feedback []work.JobFeedback `json:",omitempty"`
	// Council are the changes that this one is to be made out of, since
	// Opening.Base; they are shown in a prompt that begins a session.
	Council []ShownChange `json:",omitempty"`
	Ref     string        // that keeps the snapshot
	Message string        // of the snapshot
}

// MergeEffect merges a phase with the run's head. Its fact is MergeDone.
type MergeEffect struct {
	Command  Command
	Head     string // of the run
	Base     string // of the phase
	Last     string // the phase's last snapshot
	Reviewed bool   // what the merge makes differ is told
	Paths    bool   // of an issue: the changed paths are told
	Ref      string
	Message  string
}

// LandEffect puts a phase on the run's branch. Its fact is LandDone.
type LandEffect struct {
	Command Command
	Run     string
	Tree    string
	Head    string // of the run
	Ref     string
	Message string
	Journal Head
	// Before are those that land before it, in the same move of the branch.
	Before []LandFirst
}

// Head is the length of a run's journal and the hash of its last event.
type Head struct {
	Count int64
	Hash  string
}

// DeliverEffect hands the result over. Its fact is DeliverDone.
type DeliverEffect struct {
	Command Command
	Run     string
	Branch  string // that holds the result
	Base    work.Base
	// Strip leaves a job's documents out of the result.
	Strip   bool
	Ref     string
	Message string
	// Accepts is recorded before the result is handed over.
	Accepts []work.TrustMove
	// Stays says why the user's branch is not moved; "" = it is.
	Stays string
}

// Known is what an effect needs that the state does not hold: the journal knows
// it. Day is asked for iterations and reviews, Head for landing; see Needs.
type Known struct {
	Day  Day
	Head Head
}

// Needs says what of Known the effect of c is made with.
func (c Command) Needs() (day, head bool) {
	return c.Step == StepIterate || c.Step == StepReview || c.Step == StepVote, c.Step == StepLand
}

// EffectOf is what carrying out c takes, in s as it is now.
func EffectOf(s *State, c Command, k Known) (Effect, error) {
	p := s.Phases[c.Phase]
	if p == nil && c.Step != StepBase && c.Step != StepDeliver && c.Step != StepClose && c.Step != StepTrain && !c.Step.together() && (c.Step != StepHook || c.Phase != "") {
		return nil, fmt.Errorf("carry out %s: there is no phase %q", c.ID, c.Phase)
	}
	c.Repository = s.repositoryOf(c)
	switch c.Step {
	case StepPrepare, StepUpdate, StepPropose, StepLink, StepLook, StepMove, StepTakeBack:
		return s.togetherEffect(c)
	case StepFolder:
		return FolderEffect{Command: c, Opening: s.opening(p)}, nil
	case StepIterate:
		return s.iterateEffect(c, p, k.Day), nil
	case StepTell:
		return s.tellEffect(c, p)
	case StepBase, StepVerify:
		return s.verifyEffect(c, p), nil
	case StepControl:
		return s.controlEffect(c, p), nil
	case StepRest:
		return s.restEffect(c, p)
	case StepReview:
		return s.reviewEffect(c, p, k.Day), nil
	case StepArbiter:
		return s.arbiterEffect(c, p), nil
	case StepVote:
		return s.voteEffect(c, p, k.Day)
	case StepMerge:
		return s.mergeEffect(c, p), nil
	case StepTrain:
		return s.trainEffect(c), nil
	case StepLand:
		if p.Pull.live() {
			return s.landPullEffect(c, p, k.Head), nil
		}
		return s.landEffect(c, p, k.Head), nil
	case StepPublish:
		return s.publishEffect(c, p), nil
	case StepPull:
		return s.readEffect(c, p), nil
	case StepClose:
		at := s.leavingBy(c.ID)
		if at < 0 {
			return nil, fmt.Errorf("carry out %s: there is no such pull request to close", c.ID)
		}
		return s.closeEffect(c, s.Leaving[at]), nil
	case StepDeliver:
		return s.deliverEffect(c), nil
	case StepHook:
		return s.hookEffect(c, p)
	}
	return nil, fmt.Errorf("carry out %s: unknown step %q", c.ID, c.Step)
}

func (s *State) opening(p *Phase) Opening {
	set := s.settingsOf(p.Plan.Repository)
	return Opening{Run: s.Run, Base: s.top(p).Base, Last: p.Last, Setup: work.SetupRequest{
		Phase: p.Number, Settings: set.Worktree, Sandbox: set.Sandbox, Caches: set.Verify.Caches,
	}}
}

func (s *State) iterateEffect(c Command, p *Phase, day Day) IterateEffect {
	set := s.Spec.Settings
	session := s.sessionOf(p)
	agent := set.Agents[p.Set.Agent]
	limits := set.Limits
	limits.IterationSecs = p.Set.IterationSecs
	model := p.Model()
	if model == "" {
		model = agent.Model
	}
	usd, tokens := s.ceiling(p, day)
	e := IterateEffect{
		Command: c,
		Request: work.IterationRequest{
			Run: s.Run, Phase: c.Phase, PhaseName: p.Plan.Name, Iteration: c.Iteration, Attempt: c.Attempt, Level: s.policyOf(p).Preset,
			Agent: agent, Model: model, Permission: p.Set.Permission, Verify: p.Set.Verify, Limits: limits,
			Prompt: Prompt(s, p, session), Session: session, Sandbox: set.Sandbox, MCP: agent.MCP, CostUSD: usd, Tokens: tokens,
		},
		Fresh: Prompt(s, p, ""), Opening: s.opening(p), Parent: p.Last, Reset: p.Reset, Marked: p.marked(), Todos: s.ofJob(p),
		Ref: Ref(s.Run, fmt.Sprintf("%s/%d-%d", c.Phase, c.Iteration, c.Attempt)),
		Message: fmt.Sprintf("phase %s iteration %d attempt %d\n\nForge-Run: %s\nForge-Phase: %s\n",
			c.Phase, c.Iteration, c.Attempt, s.Run, c.Phase),
	}
	if p.Try > 0 {
		e.Measure = p.Base
	}
	e.Council = s.synthesised(p)
	if session != "" {
		e.Request.Before = p.Total
	}
	if p.Check != nil {
		e.Done = p.Check.Done
	}
	if s.ofJob(p) {
		e.Feedback = s.Job.Feedback
	}
	if p.Kind == IterationResolve {
		e.Head, e.Theirs, e.Parent = p.Merge.Head, p.Last, p.Merge.Commit
	}
	if conflict := p.Conflict; conflict != nil {
		e.Head, e.Theirs, e.Parent = conflict.Head, p.Last, conflict.Commit
	}
	return e
}

func (s *State) mergeEffect(c Command, p *Phase) MergeEffect {
	return MergeEffect{
		Command: c, Head: s.HeadOf(c.Repository), Base: p.Base, Last: p.Last, Reviewed: s.reviews(p), Paths: s.Issue != nil,
		Ref:     Ref(s.Run, fmt.Sprintf("%s/merge-%d", c.Phase, c.Iteration)),
		Message: fmt.Sprintf("merge of phase %s\n\nForge-Run: %s\nForge-Phase: %s\n", c.Phase, s.Run, c.Phase),
	}
}

func (s *State) landEffect(c Command, p *Phase, head Head) LandEffect {
	return LandEffect{
		Command: c, Run: s.Run, Tree: p.Merge.Tree, Head: s.HeadOf(c.Repository), Ref: Ref(s.Run, "head"), Journal: head,
		Message: s.landMessage(p, head), Before: s.landFirst(p, head),
	}
}

func (s *State) deliverEffect(c Command) DeliverEffect {
	done := s.whole()
	message := "result of the job\n"
	if s.Job != nil && s.Job.Claim != nil {
		message = text.ClipJSON(s.Job.Claim.Summary, 2000) + "\n"
	}
	e := DeliverEffect{
		Command: c, Run: s.Run, Branch: s.Spec.Branch, Base: s.Spec.Base, Strip: s.Spec.Job != nil,
		Ref: Ref(s.Run, "result"), Message: message + fmt.Sprintf("\nForge-Run: %s\n", s.Run), Stays: s.stays(done),
	}
	if done && s.Final.Rejected == "" {
		e.Accepts = slices.Clone(s.accepts())
	}
	return e
}

// whole says that everything that was to be done is.
func (s *State) whole() bool {
	if j := s.Job; j != nil {
		return j.Status == gates.JobCompleted
	}
	return !slices.ContainsFunc(s.Order, func(n string) bool {
		return s.Phases[n].Parent == "" && s.Phases[n].Outcome != work.PhaseDone
	})
}

// stays is why the user's branch stays where it is; "" = it is moved.
func (s *State) stays(done bool) string {
	switch {
	case s.Final.Rejected != "":
		return "it was rejected"
	case !done:
		return "not everything is done"
	case s.Unproven:
		return "a phase is done by the agent's word alone, without verify commands"
	case s.Spec.NoMerge:
		return "--no-merge was given"
	case s.Spec.Base.Branch == "":
		return "HEAD is detached"
	case s.Spec.Base.Shallow:
		return "the repository is a shallow clone"
	}
	return ""
}

// Ref is where Forge's own repository keeps a commit of a run.
func Ref(run, name string) string { return "refs/forge/runs/" + run + "/" + name }

func (e FolderEffect) Of() Command  { return e.Command }
func (e IterateEffect) Of() Command { return e.Command }
func (e MergeEffect) Of() Command   { return e.Command }
func (e LandEffect) Of() Command    { return e.Command }
func (e DeliverEffect) Of() Command { return e.Command }

func (FolderEffect) effect()  {}
func (IterateEffect) effect() {}
func (MergeEffect) effect()   {}
func (LandEffect) effect()    {}
func (DeliverEffect) effect() {}
