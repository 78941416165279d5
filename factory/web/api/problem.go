package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"forge/factory"
	"forge/factory/web"
	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// Problem is what came instead of an answer (RFC 9457): a word for programs, a
// sentence for people, and the way out.
type Problem struct {
	Title  string `json:"title" doc:"The status in words."`
	Status int    `json:"status"`
	Code   string `json:"code" doc:"What went wrong, in one word of Forge's own."`
	Detail string `json:"detail" doc:"What went wrong, in a sentence."`
	Fix    string `json:"fix,omitempty" doc:"What to do instead."`
	// Errors are the single things that are wrong with what was sent.
	Errors []Mistake `json:"errors,omitempty"`
	// Version is the stored one where another was edited.
	Version int64 `json:"version,omitempty" doc:"The stored version, where another one was edited."`
	// Checkpoint is the record as it is now, where an answer was refused.
	Checkpoint *work.Checkpoint `json:"checkpoint,omitempty" doc:"The checkpoint as it is now, where an answer was refused."`
}

// Mistake is one thing that is wrong with what was sent.
type Mistake struct {
	Location string `json:"location,omitempty"`
	Message  string `json:"message"`
}

// Error makes a problem an error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType names problems as such.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// problem is what a program is told about err. Of the server's own trouble it
// learns nothing but that it is the server's.
func (a *API) problem(r *http.Request, err error) *Problem {
	p := ProblemOf(err)
	if p == nil {
		a.Log.Error("a request of the API failed", "path", text.OneLine(r.URL.Path, mostSaid), "err", err)
		p = &Problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "The server could not do that.", Fix: "Its log says why."}
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// ProblemOf is what is wrong in words of the API, nil where err is the server's own
// trouble.
func ProblemOf(err error) *Problem {
	var own *Problem
	var complaint *web.Complaint
	var rule *factory.Refusal
	var problems *factory.ProblemsError
	var stale *factory.StaleError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &stale):
		return &Problem{Status: http.StatusPreconditionFailed, Code: "stale", Detail: stale.Error() + ".", Fix: "Read the issue again and make the change to what it is now.", Version: stale.Stored}
	case errors.As(err, &rule):
		return &Problem{Status: http.StatusConflict, Code: "refused", Detail: rule.What + ".", Fix: rule.Fix}
	case errors.As(err, &problems):
		p := &Problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: "What was sent cannot be an issue. Nothing was stored."}
		for _, one := range problems.List {
			p.Errors = append(p.Errors, Mistake{Location: "body." + one.Path, Message: one.What + " (" + one.Fix + ")"})
		}
		return p
	case errors.As(err, &large):
		return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Detail: "That is too much at once.", Fix: "Send less."}
	case errors.As(err, &complaint):
		return &Problem{Status: complaint.Status, Code: codeOf(complaint.Status), Detail: complaint.What, Fix: complaint.Fix}
	case errors.Is(err, web.ErrNoProject):
		return notFound("unknown_project", "There is no such project, or you may not see it.", "GET "+Prefix+"/projects lists those that you may see.")
	case errors.Is(err, work.ErrNoIssue):
		return notFound("unknown_issue", "There is no such issue.", "List the project's issues.")
	case errors.Is(err, work.ErrUnknown):
		return notFound(work.ErrUnknown.Error(), "There is no such checkpoint.", "List the project's checkpoints.")
	case errors.Is(err, fs.ErrNotExist):
		return notFound("not_found", "There is nothing of that name.", "")
	case errors.Is(err, context.DeadlineExceeded):
		return &Problem{Status: http.StatusServiceUnavailable, Code: "timeout", Detail: "It took too long.", Fix: "Look whether it was done, then try again."}
	}
	for _, refused := range refusals {
		if errors.Is(err, refused.err) {
			return &Problem{Status: refused.status, Code: refused.err.Error(), Detail: sentence(err.Error()), Fix: refused.fix}
		}
	}
	if errors.Is(err, work.ErrStale) {
		return &Problem{Status: http.StatusConflict, Code: "stale", Detail: sentence(err.Error()), Fix: "Read it again, then try again."}
	}
	return nil
}

// refusals are refused answers.
var refusals = [...]struct {
	err    error
	status int
	fix    string
}{
	{work.ErrAlreadyResolved, http.StatusConflict, "The first answer counts."},
	{work.ErrConflict, http.StatusConflict, "Look again at what is asked now, and answer that revision."},
	{work.ErrExpired, http.StatusConflict, "It still waits; look where its run stands."},
	{work.ErrTooLong, http.StatusUnprocessableEntity, "Say it in fewer words, or put it into a file of the project and name that."},
	{work.ErrEmptyFeedback, http.StatusUnprocessableEntity, "Say it in comment."},
	{gates.ErrBadAnswer, http.StatusUnprocessableEntity, "The checkpoint names its choices and who may answer."},
}

func notFound(code, what, fix string) *Problem {
	return &Problem{Status: http.StatusNotFound, Code: code, Detail: what, Fix: fix}
}

// codeOf is a word for what the server's door says by a status alone.
func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthenticated"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusTooManyRequests:
		return "too_many_requests"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return "invalid"
	case http.StatusConflict:
		return "conflict"
	case http.StatusRequestEntityTooLarge:
		return "too_large"
	}
	return "status_" + strconv.Itoa(status)
}

// ownProblems makes Forge's problems of those that huma finds itself.
func (a *API) ownProblems(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := &Problem{Title: http.StatusText(m.Status), Status: m.Status, Code: codeOf(m.Status), Detail: sentence(m.Detail)}
	switch m.Status {
	case http.StatusUnsupportedMediaType:
		p.Code, p.Fix = "not_json", "Send application/json."
	case http.StatusNotAcceptable:
		p.Code, p.Fix = "only_json", "Accept application/json."
	case http.StatusRequestTimeout:
		p.Code, p.Fix = "timeout", "Send the body at once."
	case http.StatusInternalServerError:
		p.Code, p.Detail, p.Fix = "internal", "The server could not do that.", "Its log says why."
		return p, nil
	}
	// The values are left out: whoever sent them has them.
	for _, e := range m.Errors {
		p.Errors = append(p.Errors, Mistake{Location: text.OneLine(e.Location, mostSaid), Message: text.OneLine(e.Message, mostSaid)})
	}
	return p, nil
}

// fail answers outside of huma.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return
	}
	p := a.problem(r, err)
	text, err := json.Marshal(p)
	if err != nil {
		text = []byte(fmt.Sprintf(`{"status":%d,"code":%q}`, p.Status, p.Code))
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="forge"`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n')) // whoever went away does not read it
}

func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// mostSaid is how many characters of a request are said back or logged.
const mostSaid = 300
