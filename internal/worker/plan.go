package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forge/factory"
	"forge/gates"
	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/trackers"
	"forge/internal/work"
	"forge/orchestrator"
)

// onlyPhase is the number of the phase of a plan that has just one.
const onlyPhase = "1"

// onePhase is the plan of an issue that is not split up.
func onePhase(title string, issue int64) *config.Plan {
	return config.NewPlan(work.Plan{Phases: []work.Phase{{
		Number: onlyPhase, Name: title, Promise: fmt.Sprintf("ISSUE %d DONE", issue), PhaseType: "implement",
		Reasoning: "Do all of the issue. Its own words, above, say what is wanted; they order you to do nothing else.",
	}}})
}

// issueText is what an issue says, as the specification of its run: what a
// person would not see in it is left out.
func issueText(i work.Issue, hints []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Issue %d: %s\n", i.ID, i.Title)
	if i.Description != "" {
		b.WriteString("\n" + strings.TrimSpace(i.Description) + "\n")
	}
	if len(i.Criteria) > 0 {
		b.WriteString("\n## The result is held against\n\n")
		for _, c := range i.Criteria {
			fmt.Fprintf(&b, "- %s: %s\n", c.ID, c.Text)
		}
	}
	if len(hints) > 0 {
		b.WriteString("\n## What was found out about it\n\n")
		for _, h := range hints {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(strings.TrimSpace(h), "\n", "\n  "))
		}
	}
	seen, _ := text.Reveal(b.String())
	return seen
}

// draftsIssues says whether the plan of an issue is drafted by the agent.
func draftsIssues(p *project.Checkout, set work.Settings) bool {
	switch config.ValueOf(p.Config.File.Factory.Plan) {
	case "draft":
		return true
	case "single":
		return false
	}
	kind := set.Agents[set.Phases[onlyPhase].Agent].Kind
	return kind != "script" && kind != "exec"
}

// planIssue makes the plan of an issue's run, in this repository alone where that is said.
func planIssue(ctx context.Context, p *project.Checkout, i work.Issue, hints []string, alone bool) (*config.Plan, error) {
	plan := onePhase(i.Title, i.ID)
	set, err := config.Resolve(p.Config, plan, config.Facts{Kinds: project.AgentKinds()})
	if err != nil || !draftsIssues(p, set) {
		return plan, err
	}
	drafts := func() ([]byte, error) { return draft.Plan(ctx, p, "", issueText(i, hints), nil) }
	if alone {
		drafts = func() ([]byte, error) { return draft.OneRepository(ctx, p, issueText(i, hints)) }
	}
	text, err := drafts()
	var refused *refusal.Error
	if errors.As(err, &refused) {
		return nil, refusal.New(fmt.Sprintf("%s: forge issue retry %d; with [factory] plan = \"single\" nobody drafts one", refused.Fix, i.ID), "%s", refused.What)
	}
	if err != nil {
		return nil, err
	}
	drafted, err := draft.Finish(p, text, nil, issueText(i, hints))
	if err != nil {
		return nil, err
	}
	return config.NewPlan(draft.Tame(drafted.Plan)), nil
}

// Spec is what an issue's run is opened with.
func (s *Worker) Spec(ctx context.Context, f trackers.ForIssue, o factory.Order, after string) (orchestrator.Spec, error) {
	p, i, hints := f.Project(), o.Issue, o.Hints
	base, err := s.issueBase(ctx, p)
	var from begun
	if err == nil && (i.Pull != nil || after != "") {
		from, err = s.goesOn(ctx, p, i, after)
		base.Commit, hints = from.base, slices.Concat(hints, from.hints())
	}
	if err != nil {
		return orchestrator.Spec{}, err
	}
	p.Base = base
	plan := onePhase(i.Title, i.ID)
	if from.conflict == nil && (from.pushed == nil || from.pushed.Approved == "") {
		// Else nobody is to do anything, but to resolve what conflicts.
		if plan, err = planIssue(ctx, p, i, hints, s.alone(f, i, after)); err != nil {
			return orchestrator.Spec{}, err
		}
	}
	flow, err := s.flowOf(ctx, i)
	if err != nil {
		return orchestrator.Spec{}, err
	}
	if flow.Workspace != "" {
		for n := range plan.Phases {
			plan.Phases[n].Reasoning = flow.Prompt
		}
		if flow.Head != "" {
			if newer, err := s.Machine.Repo.Holds(ctx, flow.Head, base.Commit); err != nil {
				return orchestrator.Spec{}, err
			} else if newer && after == "" && i.Pull == nil {
				base.Commit = flow.Head
				p.Base = base
			}
		}
	}
	for n := range plan.Phases {
		if tries := cmp.Or(i.Budget, p.Config.LabelBudget()); tries > 0 {
			plan.Phases[n].Budget = tries
		}
	}
	flags := config.PolicyFlags{Level: i.Level, Job: config.ValueOf(p.Config.File.Factory.DefaultPolicy)}
	spec, _, err := p.Resolve(plan, flags)
	if err != nil {
		return spec, err
	}
	if bound, err := s.triage.Bound(ctx, p, i); err != nil {
		return spec, err
	} else if bound != nil {
		// A part is never freer than what it is part of.
		spec.Bound, spec.Policy = bound, gates.Meet(spec.Policy, *bound)
	}
	if spec.Pulls, err = pullrequest.Settings(p); err != nil {
		return spec, err
	}
	spec.NoMerge = true // it lands in the target, and nowhere else
	if spec.Branch = i.Branch; spec.Branch == "" {
		spec.Branch = factory.Branch(i.ID, i.Title)
	}
	spec.Settings.Spec = issueText(i, hints)
	said, err := s.triage.result(ctx, i)
	if err != nil {
		return spec, err
	}
	spec.Issue = &work.IssueBrief{
		Project: s.Project, ID: i.ID, Version: i.Version, Title: i.Title, Criteria: i.Criteria, External: f.External(), LookAfter: said.Post,
		ByLabel: p.Config.LabelsSay(p.Config.Labels()),
		Heard:   from.told.Heard, Threads: from.told.Threads, Pushed: from.pushed, Conflict: from.conflict, Workspace: flow.Workspace,
	}
	if err := s.inSeveral(ctx, p, &spec, flags); err != nil {
		return spec, err
	}
	if err := p.CheckStart(spec); err != nil {
		return spec, err
	}
	if err := p.CheckAgents(ctx, spec.Settings); err != nil {
		return spec, err
	}
	return spec, p.CheckReviewer(ctx, spec.Settings, project.Selected(plan.Plan, nil))
}

// issueBase is where an issue's run starts: at what has landed, else at the
// checkout's HEAD.
func (s *Worker) issueBase(ctx context.Context, p *project.Checkout) (work.Base, error) {
	base := p.Base
	base.Branch = ""
	if h, err := s.resultHost(p); err != nil || h != nil {
		if err != nil {
			return base, err
		}
		return h.startAt(ctx, base)
	}
	head, err := s.Machine.Repo.BranchHead(ctx, target(p))
	if err != nil || head == "" {
		return base, err
	}
	if target(p) == ownTarget {
		// Whoever merged what landed and went on from there is followed. Another
		// target is not for what happens to be checked out.
		if ahead, err := s.Machine.Repo.Holds(ctx, base.Commit, head); err != nil || ahead {
			return base, err
		}
	}
	base.Commit = head
	return base, nil
}

// ownTarget is the target that Forge makes where none is named.
const ownTarget = "forge/landed"

// target is the branch that finished issues are merged into.
func target(p *project.Checkout) string { return config.ValueOf(p.Config.File.Factory.Target) }
