package narrate

import "strings"

// decided is what a decision at a gate means to somebody who never saw Forge's own
// words for it. "" stands for every gate that has no words of its own.
func decided() map[string]map[string]string {
	return map[string]map[string]string{
		"": {
			"go": "the work goes on", "ask": "you are asked", "stop": "the work stops here", "approve": "approved", "reject": "refused",
			"rework": "it is worked on again", "advance": "goes on to the next step", "clarify": "a person is asked what is meant",
		},
		"claim":     {"claimed": "the agent says that it is done", "not_claimed": "it does not count as done yet"},
		"baseline":  {"go": "work begins although the project's own commands fail", "stop": "the project's own commands fail before any work"},
		"iteration": {"go": "the agent is called"},
		"stale":     {"pivot": "stuck: the agent is told to try another way", "continue": "stuck, and goes on as before", "stop": "stuck again: the phase ends"},
		"evidence":  {"changed": "files that prove the work were changed", "disturbed": "a command changed the files that it had to prove"},
		"review":    {"review": "reviewers are asked", "ask_again": "reviewers are asked once more", "arbiter": "reviewers object or say nothing of use: rules decide what follows", "go": "no reviewer objects"},
		"arbiter":   {"ask": "a model is asked what follows from the findings", "fix": "the agent mends what was found"},
		"merge":     {"land": "goes into the result", "verify": "proven again, as it is after the merge", "verify_again": "proven again, as it is after the merge", "review": "reviewed again, as it is after the merge", "resolve": "conflicts: the agent resolves them", "rework": "red after the merge: the agent goes on from there"},
		"final":     {"nothing_to_land": "there is nothing to land", "go": "the result lands"},
		"question":  {"decide": "nobody is asked: the agent decides, and writes down what it assumed", "answer": "your answer goes to the agent", "repeat": "the agent gets the answer of before"},
		"blocker":   {"decide": "nobody is asked: the agent works around it", "answer": "your answer goes to the agent", "stop": "it cannot go on: the phase ends"},
		"message":   {"rework": "the agent reads what a person said first", "go": "the agent reads what a person said", "not_claimed": "it does not count as done: the agent has not read what a person said"},
		"decompose": {"split": "too much for one piece of work: the agent is asked for its parts", "approve": "the phase is split into parts", "reject": "the phase is not split", "rework": "the agent proposes other parts"},
		"tries":     {"ask": "several tries are proven: you are asked which one is taken", "go": "one of the tries is taken", "rework": "a try is taken, and worked on again", "reject": "none of the tries is taken"},
		"council":   {"review": "the workers are asked what they think of each other's tries"},
		"subphase":  {"go": "a sub-phase may begin", "reject": "a sub-phase is refused"},
	}
}

// gateWords says a decision in plain words; "" where nobody has found any.
func gateWords(gate, decision string) string {
	gate = strings.TrimPrefix(gate, "ckpt.")
	all := decided()
	if words := all[gate][decision]; words != "" {
		return words
	}
	return all[""][decision]
}

// deciderWords says who decided: a person by name, else what kind of thing did.
func deciderWords(by string) string {
	kind, name, _ := strings.Cut(by, ":")
	switch kind {
	case "person":
		return name
	case "policy", "strategy":
		return "the level " + name
	case "rule":
		return "a rule that holds at every level (" + name + ")"
	}
	return by
}
