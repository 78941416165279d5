package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"forge/factory/web"
	"forge/gates"
	"forge/internal/work"
)

// maxComment is how much of a comment reaches the agent and the journal, in
// bytes; as at the command line, a longer one is refused rather than cut.
const maxComment = 4000

// GiveAnswer answers a checkpoint.
type GiveAnswer struct {
	InCheckpoint
	Body struct {
		Revision int    `json:"revision" minimum:"1" doc:"What was looked at; refused when something else is asked about by now."`
		Comment  string `json:"comment,omitempty"`
		Choice   string `json:"choice,omitempty" maxLength:"60" doc:"One of the checkpoint's choices."`
		Level    string `json:"level,omitempty" maxLength:"64" doc:"Changes the run's policy as well; takes the role admin."`
	}
}

// JudgeFiles says something of single files.
type JudgeFiles struct {
	InCheckpoint
	Body struct {
		Revision int          `json:"revision" minimum:"1"`
		Files    []saidOfFile `json:"files" minItems:"1" maxItems:"200" nullable:"false"`
	}
}

type saidOfFile struct {
	Path    string                `json:"path" minLength:"1" maxLength:"4096" doc:"One that the checkpoint's files name."`
	Status  work.CheckpointStatus `json:"status" enum:"approved,changes_requested,rejected"`
	Comment string                `json:"comment,omitempty"`
}

func (a *API) answerRoutes() {
	const path = "/projects/{project}/checkpoints/{checkpoint}"
	for _, one := range []struct {
		word, summary string
		status        work.CheckpointStatus
	}{
		{"approve", "Answer a checkpoint with yes", work.CheckpointApproved},
		{"request-changes", "Answer a checkpoint with what has to change", work.CheckpointChangesRequested},
		{"reject", "Answer a checkpoint with no", work.CheckpointRejected},
	} {
		add(a, Route{ID: one.word + "-checkpoint", Method: http.MethodPost, Path: path + "/" + one.word, Role: web.RoleReviewer, Summary: one.summary, Tag: "checkpoints"},
			func(c call, in *GiveAnswer) (*Answer[work.Checkpoint], error) { return a.give(c, in, one.status) })
	}
	add(a, Route{ID: "judge-files", Method: http.MethodPost, Path: path + "/files", Role: web.RoleReviewer, Summary: "Approve single files of a change or send them back; the whole is answered afterwards", Tag: "checkpoints", MaxBody: 1 << 20}, a.judgeFiles)
}

func (a *API) give(c call, in *GiveAnswer, status work.CheckpointStatus) (*Answer[work.Checkpoint], error) {
	b := in.Body
	if err := short(b.Comment); err != nil {
		return nil, err
	}
	if b.Level != "" {
		if !c.who.May(c.project.ID, web.RoleAdmin) {
			return nil, forbidden(web.RoleAdmin, c)
		}
		if err := a.checkLevel(c, "body.level", b.Level); err != nil {
			return nil, err
		}
	}
	cp, err := c.project.Questions.Answer(c, work.Answer{
		Checkpoint: in.Checkpoint, Revision: b.Revision, Status: status, Comment: strings.ToValidUTF8(b.Comment, "\uFFFD"), Choice: b.Choice,
		By: c.who.Name, Role: c.who.Role(c.project.ID).Gate(), Door: "api", At: a.Now().UTC(),
	}, b.Level)
	if err != nil {
		return nil, c.refused(err, cp)
	}
	return answer(cp, nil)
}

func (a *API) judgeFiles(c call, in *JudgeFiles) (*Answer[work.Checkpoint], error) {
	j, err := c.project.Questions.Judged(c, in.Checkpoint)
	if err != nil {
		return nil, err
	}
	if !gates.MayAnswer(j.Checkpoint, c.who.Role(c.project.ID).Gate()) {
		return nil, forbidden(web.RoleOperator, c)
	}
	var verdicts []work.FileVerdict
	for n, f := range in.Body.Files {
		if err := short(f.Comment); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(j.Files, func(of work.FileChange) bool { return of.Path == f.Path }) {
			return nil, invalid(fmt.Sprintf("body.files[%d].path", n), "it is no file of the change")
		}
		verdicts = append(verdicts, work.FileVerdict{Path: f.Path, Status: f.Status, Comment: strings.ToValidUTF8(f.Comment, "\uFFFD"), By: c.who.Name, At: a.Now().UTC()})
	}
	cp, err := c.project.Questions.JudgeFiles(c, in.Checkpoint, in.Body.Revision, verdicts)
	if err != nil {
		return nil, c.refused(err, cp)
	}
	return answer(cp, nil)
}

// refused is a refused answer with the checkpoint as it is now.
func (c call) refused(err error, cp work.Checkpoint) error {
	if errors.Is(err, gates.ErrBadAnswer) && cp.ID != "" && !gates.MayAnswer(cp, c.who.Role(c.project.ID).Gate()) {
		return forbidden(web.RoleOperator, c)
	}
	p := ProblemOf(err)
	if p == nil {
		return err
	}
	if cp.ID != "" {
		p.Checkpoint = &cp
	}
	return p
}

func forbidden(least web.Role, c call) *Problem {
	return &Problem{
		Status: http.StatusForbidden, Code: "forbidden", Fix: "Ask an admin of this server for it.",
		Detail: fmt.Sprintf("This takes the role %s; you are %s.", least, c.who.Role(c.project.ID)),
	}
}

func short(comment string) error {
	if len(comment) > maxComment {
		return invalid("body.comment", fmt.Sprintf("it has %d bytes, more than %d; put it into a file of the project and name that", len(comment), maxComment))
	}
	return nil
}
