package cli

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

// findReviewer decides whether the project begins with reviews: where a model
// that [llm] names answers, or else an agent is there and logged in, which then
// reviews without the right to change anything. Nobody is asked in a dry run,
// and an agent never is: that would cost.
func (i *initiation) findReviewer(ctx context.Context) error {
	if i.configured || i.cfg.Origin("reviews.enabled") != "default" {
		return nil // somebody has decided
	}
	by, why, err := i.modelReviews(ctx)
	switch {
	case err != nil:
		return err
	case by != "":
		i.reviews = "\n# The model of [llm] reviews each phase after it is proven.\n[reviews]\nenabled = true\n"
	case why == "" && i.agentReviews():
		by = "the agent " + i.agent.Name + ", without the right to change anything"
		i.reviews = "\n# Each phase is reviewed after it is proven. It costs what the agent costs.\n[reviews]\nenabled = true\nagent = " + strconv.Quote(i.agent.Name) + "\n"
	}
	switch {
	case by != "":
		i.say("Reviews", markYes, "each phase is reviewed by %s", by)
	case why != "":
		i.say("Reviews", markNo, "off: %s", why)
	default:
		i.say("Reviews", " ", "off: there is no model in [llm], and no agent that is known to be logged in")
	}
	if by == "" {
		i.reviews = "\n# Reviews of each phase after it is proven; by a model of [llm], or by this agent.\n# [reviews]\n# enabled = true\n# agent = \"claude\"\n"
	}
	return nil
}

// modelReviews is the model that answers, or why the one that is named does not;
// neither where none is.
func (i *initiation) modelReviews(ctx context.Context) (by, why string, err error) {
	p := &project.Checkout{Env: i.app.env(), Config: i.cfg}
	models := project.ReviewModels(i.set.Reviews)
	if i.set.Reviews.By != project.ByModel || len(models) == 0 {
		return "", "", nil
	}
	if i.o.dryRun || i.o.noTry {
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
func (i *initiation) agentReviews() bool {
	g := i.agent
	return g.Name != "" && g.Kind != "exec" && g.Kind != "script" && g.Found.Found && g.Found.LoggedIn == agent.LoginYes
}
