package setup

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"forge/internal/agent"
	"forge/internal/llm"
	"forge/internal/project"
	"forge/internal/text"
)

// Reviewer is who will review, and why nobody will.
type Reviewer struct {
	Decided bool   // somebody has said before whether there are reviews
	By      string // "" = nobody
	Why     string // the model that is named is not it; "" = none is
}

// FindReviewer decides whether the project begins with reviews: where a model
// that [llm] names answers, or else an agent is there and logged in, which then
// reviews without the right to change anything. The model is asked only with
// probe, and an agent never is: that would cost.
func (s *Setup) FindReviewer(ctx context.Context, probe bool) (Reviewer, error) {
	if s.Configured || s.cfg.Origin("reviews.enabled") != "default" {
		return Reviewer{Decided: true}, nil
	}
	by, why, err := s.modelReviews(ctx, probe)
	switch {
	case err != nil:
		return Reviewer{}, err
	case by != "":
		s.reviews = "\n# The model of [llm] reviews each phase after it is proven.\n[reviews]\nenabled = true\n"
	case why == "" && s.agentReviews():
		by = "the agent " + s.Agent.Name + ", without the right to change anything"
		s.reviews = "\n# Each phase is reviewed after it is proven. It costs what the agent costs.\n[reviews]\nenabled = true\nagent = " + strconv.Quote(s.Agent.Name) + "\n"
	default:
		s.reviews = "\n# Reviews of each phase after it is proven; by a model of [llm], or by this agent.\n# [reviews]\n# enabled = true\n# agent = \"claude\"\n"
	}
	return Reviewer{By: by, Why: why}, nil
}

// modelReviews is the model that answers, or why the one that is named does not;
// neither where none is.
func (s *Setup) modelReviews(ctx context.Context, probe bool) (by, why string, err error) {
	p := &project.Checkout{Env: s.env, Config: s.cfg}
	models := project.ReviewModels(s.Settings.Reviews)
	if s.Settings.Reviews.By != project.ByModel || len(models) == 0 {
		return "", "", nil
	}
	if !probe {
		return "", fmt.Sprintf("the model %s was not asked whether it answers", models[0]), nil
	}
	c, err := p.Model()
	if err != nil {
		return "", text.OneLine(err.Error(), 300), nil
	}
	defer c.Close()
	err = p.Probe(ctx, c, models)
	var trouble *llm.Trouble
	switch {
	case err == nil:
		return "the model " + models[0], "", nil
	case ctx.Err() != nil || !errors.As(err, &trouble):
		return "", "", err
	}
	return "", fmt.Sprintf("the model %s does not answer: %s", models[0], trouble.What), nil
}

// agentReviews says that the agent would answer, as far as can be known.
func (s *Setup) agentReviews() bool {
	g := s.Agent
	return g.Name != "" && g.Kind != "exec" && g.Kind != "script" && g.Found.Found && g.Found.LoggedIn == agent.LoginYes
}
