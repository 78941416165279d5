package mcp

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/token"
	"forge/internal/work"
)

type inQuestions struct {
	Run   string `json:"run,omitempty" jsonschema:"only of this run or job"`
	All   bool   `json:"all,omitempty" jsonschema:"also those that are answered or expired"`
	After string `json:"after,omitempty" jsonschema:"id of a question: those opened after it"`
}

type inQuestion struct {
	ID     string `json:"id" jsonschema:"whole id, as the tool questions names it"`
	Diff   bool   `json:"diff,omitempty" jsonschema:"with the change that is judged"`
	Offset int    `json:"offset,omitempty" jsonschema:"where to go on, as the answer before says"`
}

type inTell struct {
	inRun
	Text string          `json:"text" jsonschema:"what you say; it is in the phase's next prompt"`
	Now  bool            `json:"now,omitempty" jsonschema:"end the iteration that is under way, keep its work, and begin the next with it"`
	Anew bool            `json:"anew,omitempty" jsonschema:"go on in a new session, which gets a summary of what happened; the text may be empty"`
	With []work.Attached `json:"with,omitempty" jsonschema:"files and lines that go with the text, at most 8, small ones"`
}

type inRewind struct {
	inRun
	Iteration int    `json:"iteration" jsonschema:"the one whose work the phase goes on from"`
	Attempt   int    `json:"attempt,omitempty" jsonschema:"at that iteration; the newest where it is absent"`
	Text      string `json:"text,omitempty" jsonschema:"what you say to the agent with that"`
}

type inAnswer struct {
	ID       string `json:"id" jsonschema:"whole id, as the tool questions names it"`
	Revision int    `json:"revision" jsonschema:"of what you looked at; refused when something else is asked by now"`
	Answer   string `json:"answer" jsonschema:"approve, request_changes or reject"`
	Comment  string `json:"comment,omitempty" jsonschema:"why, or what has to change"`
	Choice   string `json:"choice,omitempty" jsonschema:"one of the question's choices"`
}

func askTools() []tool {
	return []tool{
		define(tool{name: "questions", tier: token.Read, about: "What waits for a person, and with all=true what did."}, listQuestions),
		define(tool{name: "question", tier: token.Read, about: "What one question asks about: what is judged, the evidence, what is in doubt."}, showQuestion),
		define(tool{name: "tell", tier: token.Comment, about: "Say something to the agent of a phase while it works."}, tellAgent),
		define(tool{name: "rewind", tier: token.Act, about: "Let a phase go on from what one of its iterations left; later work of it is kept aside."}, rewindPhase),
		define(tool{name: "answer", tier: token.Answer, about: "Answer a question for the person who gave you this token. The first answer counts."}, giveAnswer),
	}
}

func listQuestions(c *call, in inQuestions) (answer, error) {
	run := in.Run
	if run != "" || c.Grant.Run != "" {
		row, err := c.run(run)
		if err != nil {
			return answer{}, err
		}
		run = row.ID
	}
	status := work.CheckpointPending
	if in.All {
		status = ""
	}

	const page = 50
	var l list
	for after := in.After; ; {
		found, err := c.project.Questions.Checkpoints(c, run, status, page, after)
		if err != nil {
			return answer{}, err
		}
		for _, cp := range found {
			if c.sees(cp) && !l.add(questionLine(cp)) {
				return answer{head: text.Number(l.count, "question") + ".\n", title: "Questions", data: l.b.String(), next: "after=" + after}, nil
			}
			after = cp.ID
		}
		if len(found) < page {
			return answer{head: text.Number(l.count, "question") + ".\n", title: "Questions", data: l.b.String()}, nil
		}
	}
}

func questionLine(cp work.Checkpoint) string {
	line := fmt.Sprintf("%s, revision %d, %s, run %s", cp.ID, cp.Revision, cp.Status, cp.Run)
	if cp.Phase != "" {
		line += ", phase " + cp.Phase
	}
	line += fmt.Sprintf(", %s, since %s\n    %s", cp.Kind, cp.OpenedAt.UTC().Format("2006-01-02 15:04"), cp.Question)
	for _, ch := range cp.Choices {
		line += fmt.Sprintf("\n    choice %s: %s, %s", ch.Name, ch.Answer, ch.Label)
	}
	if cp.Status != work.CheckpointPending && cp.AnsweredBy != "" {
		line += "\n    answered by " + cp.AnsweredBy
	}
	return line
}

func showQuestion(c *call, in inQuestion) (answer, error) {
	j, err := c.question(in.ID)
	if err != nil {
		return answer{}, err
	}
	if c.Grant.Phase != "" {
		// Proofs of other phases are not the agent's to read.
		j.Records, j.InDoubt, j.Papers = nil, nil, nil
	}
	data, err := asJSON(j)
	if err != nil {
		return answer{}, err
	}
	if in.Diff && j.From != "" && j.To != "" {
		patch, err := c.project.Code.Diff(c, j.From, j.To)
		if err != nil {
			return answer{}, err
		}
		data += "\n\n" + patch
	}
	return paged(fmt.Sprintf("Question %s, revision %d, is %s.\n", j.Checkpoint.ID, j.Checkpoint.Revision, j.Checkpoint.Status), "Question", data, in.Offset), nil
}

func tellAgent(c *call, in inTell) (answer, error) {
	row, st, err := c.stand(in.Run)
	if err != nil {
		return answer{}, err
	}
	phase, err := c.phase(st, in.Phase)
	if err != nil {
		return answer{}, err
	}
	told, err := c.project.Questions.Tell(c, row.ID, work.Message{Phase: phase, Text: strings.ToValidUTF8(in.Text, "\uFFFD"), Now: in.Now, Anew: in.Anew, Attached: in.With}, c.Grant.Who(), c.Door)
	if err != nil {
		return answer{}, err
	}
	head := fmt.Sprintf("Message %s for phase %s of run %s is %s.\n", told.ID, told.Phase, told.Run, told.How(row.State == "running"))
	if told.Waits != "" {
		head += "The phase waits for an answer to " + told.Waits + ", and goes on with both.\n"
	}
	return answer{head: head}, nil
}

func rewindPhase(c *call, in inRewind) (answer, error) {
	row, st, err := c.stand(in.Run)
	if err != nil {
		return answer{}, err
	}
	phase, err := c.onePhase(st, in.Phase)
	if err != nil {
		return answer{}, err
	}
	back := work.Rewind{Phase: phase.Number, Iteration: in.Iteration, Attempt: in.Attempt, Text: strings.ToValidUTF8(in.Text, "\uFFFD")}
	rewound, err := c.project.Questions.Rewind(c, row.ID, back, c.Grant.Who(), c.Door)
	if err != nil {
		return answer{}, err
	}
	head := fmt.Sprintf("Phase %s of run %s goes on from iteration %d: %s.\n", rewound.Phase, rewound.Run, rewound.Iteration, rewound.State)
	if len(rewound.Again) > 0 {
		head += "Open again with it: " + strings.Join(rewound.Again, ", ") + ".\n"
	}
	return answer{head: head}, nil
}

// answers are the words that the tool answer knows.
var answers = map[string]work.CheckpointStatus{
	"approve": work.CheckpointApproved, "request_changes": work.CheckpointChangesRequested, "reject": work.CheckpointRejected,
}

// maxComment is how much a comment holds, in bytes, as by the API.
const maxComment = 4000

func giveAnswer(c *call, in inAnswer) (answer, error) {
	status, known := answers[in.Answer]
	switch {
	case !known:
		return answer{}, refusal.New("approve, request_changes or reject", "%s is no answer", label(in.Answer))
	case len(in.Comment) > maxComment:
		return answer{}, refusal.New("put it into a file of the project and name that", "the comment has %d bytes, at most %d are taken", len(in.Comment), maxComment)
	}
	if _, err := c.question(in.ID); err != nil {
		return answer{}, err
	}
	cp, err := c.project.Questions.Answer(c, work.Answer{
		Checkpoint: in.ID, Revision: in.Revision, Status: status, Comment: strings.ToValidUTF8(in.Comment, "\uFFFD"), Choice: in.Choice,
		By: c.Grant.Who(), Role: gates.RoleOwner, Door: c.Door, At: c.Now().UTC(),
	}, "")
	if err != nil {
		return answer{}, err
	}
	return answer{head: fmt.Sprintf("Question %s is %s.\n", cp.ID, cp.Status)}, nil
}
