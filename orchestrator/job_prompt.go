package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// writeJobTask tells a new session what the job is, and what this phase of it
// is there for.
func (s *State) writeJobTask(b *strings.Builder, p *Phase) {
	j := s.Spec.Job
	fmt.Fprintf(b, "You work on a job in the current folder. Phases that plan (strategic) and phases that do (tactical) alternate until the job is complete. This is %s, the level is %s.\n", text.Label(p.Plan.Name), text.Label(s.policyOf(p).Preset))
	b.WriteString(aboutData)
	if j.Prompt != "" {
		section(b, "Your expertise: "+text.Label(j.Expert), j.Prompt)
	}
	section(b, "The job", j.Description)
	fmt.Fprintf(b, "\nThe job's own documents are in %s/: workspace.md (what you have to remember), plan.md (the plan), todos.yaml (the todos of the next tactical phase), tools/ (what you can use)", work.JobDir)
	if len(j.Documents) > 0 {
		b.WriteString(", documents/ (what the user gave you)")
	}
	if len(j.Sources) > 0 {
		b.WriteString(". Data sources are described in tools/")
	}
	b.WriteString(". What you write there is for people to read and for your own later sessions.\n")
	if len(j.Documents) > 0 {
		section(b, "What is in documents/", strings.Join(j.Documents, "\n"))
	}
	if len(j.Sources) > 0 {
		section(b, "Data sources", strings.Join(j.Sources, "\n"))
	}
	s.writeLessons(b)
	section(b, "What to do in this phase", todosOf(p.Todos))
	if p.Plan.Kind == work.KindStrategic {
		b.WriteString("\n" + s.whoReads(p))
	}
	b.WriteString("\n## When it is done\n\n")
	b.WriteString("End your last message with the promise. It is an XML element; its name is the word promise in lower case, its content the words of the next fence, to the letter, and nothing else.\n")
	section(b, "The words of the promise", p.Plan.Promise)
	b.WriteString("\n")
	if p.Plan.Kind == work.KindStrategic {
		fmt.Fprintf(b, "It counts only when %s/todos.yaml holds %d to %d todos, each with a title, none twice; %s/tools/todos.md says how it is written.\n", work.JobDir, work.MinTodos, work.MaxTodos, work.JobDir)
	} else {
		fmt.Fprintf(b, "It counts only when every todo in %s/todos.yaml is marked as done. Finish one todo, mark it, and end your message: each finished todo becomes a commit.\n", work.JobDir)
	}
	b.WriteString("When the whole job is complete, say so instead, by an element named job-complete that holds a JSON object with summary, deliverables (a list of paths), confidence (0 to 1) and notes.\n")
	if len(p.Set.Verify) > 0 {
		b.WriteString("What you claim is then proven by running the commands of the next fence on your work in a fresh folder; ignored files are not there.\n")
		section(b, "The commands that prove it", strings.Join(p.Set.Verify, "\n"))
	}
	b.WriteString("\nOther elements that you may use: progress (a percentage), blocker (what stops you), pivot (a new strategy), checkpoint (a JSON object with type, summary and paths: somebody should look before you go on).\n")
	b.WriteString(aboutAsking + aboutLessons)
	b.WriteString("Do not commit, push, or change anything under .forge/; files under it are put back.\n")
	fmt.Fprintf(b, "\nThis is iteration %d; the budget of the phase is %d.\n", p.Iteration+1, p.Budget)
	writeAnswered(b, p)
	p.writePast(b)
}

// whoReads tells a phase that plans whether a person reads the plan before anything
// is done by it, at the level that holds now.
func (s *State) whoReads(p *Phase) string {
	b, sure := s.boundary(p), 1.0
	b.JobComplete = false
	if s.policyOf(p).AtBoundary(b).Frozen == gates.NotFrozen {
		return "Nobody reads this plan before the work by it begins. Decide what is open, and write into workspace.md what you decided and what you assumed.\n"
	}
	if b.End.Confidence = &sure; s.policyOf(p).AtBoundary(b).Frozen == gates.NotFrozen {
		return "A person reads this plan before the work by it begins, unless its reviewers are sure of it. Decide what is open. Say in plan.md what you decided and assumed, and what the alternatives were, so that it can be judged without your session.\n"
	}
	return "A person reads this plan before the work by it begins. Say in plan.md what is decided, what the alternatives were, and what you want to know, so that it can be judged without your session.\n"
}

// todosOf are the todos that a phase begins with.
func todosOf(set gates.TodoSet) string {
	file := work.JobDir + "/"
	switch set {
	case todosInitial:
		return "1. Read every document, and look into every data source.\n" +
			"2. Write " + file + "workspace.md: the task in your words, what you learned, constraints, open questions.\n" +
			"3. Write " + file + "plan.md: the way to the goal in phases, and how success is told from failure.\n" +
			"4. Add to " + file + "tools/ what you found out about the tools that you will use.\n" +
			"5. Write " + file + "todos.yaml: the todos of the first tactical phase."
	case gates.TodosTransition:
		return "1. Look back at the tactical phase: write " + file + "archive/ a retrospective with what worked, what did not, and why.\n" +
			"2. Move the finished todos into " + file + "archive/.\n" +
			"3. Bring " + file + "workspace.md up to date.\n" +
			"4. Adapt " + file + "plan.md to what you know now.\n" +
			"5. Write " + file + "todos.yaml for the next tactical phase, or say that the job is complete."
	case gates.TodosResume:
		return "1. Process each comment of the feedback.\n" +
			"2. Look at the results that it touches, and judge them anew.\n" +
			"3. Adapt " + file + "plan.md and " + file + "workspace.md; keep the feedback there under the heading Review Feedback.\n" +
			"4. Write corrective todos into " + file + "todos.yaml.\n" +
			"5. Answer each comment in " + file + "workspace.md."
	}
	return "Do the todos in " + file + "todos.yaml in their order. Mark each as done when it is done and checked, and not before."
}
