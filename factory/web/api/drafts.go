package api

import (
	"errors"
	"net/http"
	"strings"

	"forge/factory/web"
)

// OrderDraft is what a plan is drafted for.
type OrderDraft struct {
	InProject
	Body struct {
		Text  string `json:"text" minLength:"1" maxLength:"65536" doc:"What is to be done."`
		Tries int    `json:"tries,omitempty" minimum:"0" maximum:"1000" doc:"Iterations of each phase; absent = as drafted."`
	}
}

// InDraft names a draft.
type InDraft struct {
	InProject
	Draft string `path:"draft" maxLength:"100" doc:"The draft's id."`
}

// ReplyDraft is the answer to what an interview asks.
type ReplyDraft struct {
	InDraft
	Body struct {
		Question string `json:"question" minLength:"1" maxLength:"4096" doc:"The question that is answered, as show-draft tells it."`
		Answer   string `json:"answer" maxLength:"4096" doc:"Words or a choice; empty = the agent decides."`
	}
}

type draftList struct {
	Drafts []web.Draft `json:"drafts"`
}

func (a *API) draftRoutes() {
	const path = "/projects/{project}/drafts"
	add(a, Route{ID: "draft-plan", Method: http.MethodPost, Path: path, Role: web.RoleOperator, Summary: "Have the agent draft a plan for a text; no work is begun. The run of it is begun with its id", Tag: "runs"},
		func(c call, in *OrderDraft) (*Answer[web.Draft], error) {
			if err := startsHere(c); err != nil {
				return nil, err
			}
			o := web.RunOrder{Text: unixLines(in.Body.Text), Tries: in.Body.Tries, By: c.who.Name}
			if strings.TrimSpace(o.Text) == "" {
				return nil, invalid("body.text", "say what is wanted")
			}
			id, err := c.project.Starts.Draft(c, o)
			if err != nil {
				return nil, err
			}
			d, err := c.project.Starts.Drafted(c, id)
			return answer(d, noDraft(err))
		})
	add(a, Route{ID: "list-drafts", Method: http.MethodGet, Path: path, Role: web.RoleOperator, Summary: "Drafts of plans that no run was begun with, the newest first", Tag: "runs"},
		func(c call, _ *InProject) (*Answer[draftList], error) {
			if err := startsHere(c); err != nil {
				return nil, err
			}
			all, err := c.project.Starts.Drafts(c)
			return answer(draftList{append([]web.Draft{}, all...)}, err)
		})
	add(a, Route{ID: "show-draft", Method: http.MethodGet, Path: path + "/{draft}", Role: web.RoleOperator, Summary: "What has become of a draft; forecast-run with its id tells its phases", Tag: "runs"},
		func(c call, in *InDraft) (*Answer[web.Draft], error) {
			if err := startsHere(c); err != nil {
				return nil, err
			}
			d, err := c.project.Starts.Drafted(c, in.Draft)
			return answer(d, noDraft(err))
		})
	add(a, Route{ID: "answer-draft", Method: http.MethodPost, Path: path + "/{draft}/answer", Role: web.RoleOperator, Summary: "Answer what an interview asks; the agent goes on with it", Tag: "runs"},
		func(c call, in *ReplyDraft) (*Answer[web.Draft], error) {
			if err := startsHere(c); err != nil {
				return nil, err
			}
			if err := c.project.Starts.AnswerDraft(c, in.Draft, in.Body.Question, in.Body.Answer); err != nil {
				return nil, noDraft(err)
			}
			d, err := c.project.Starts.Drafted(c, in.Draft)
			return answer(d, noDraft(err))
		})
	add(a, Route{ID: "drop-draft", Method: http.MethodDelete, Path: path + "/{draft}", Role: web.RoleOperator, Summary: "End a draft, and forget it", Tag: "runs"},
		func(c call, in *InDraft) (*Answer[draftList], error) {
			if err := startsHere(c); err != nil {
				return nil, err
			}
			if err := c.project.Starts.DropDraft(c, in.Draft); err != nil {
				return nil, noDraft(err)
			}
			all, err := c.project.Starts.Drafts(c)
			return answer(draftList{append([]web.Draft{}, all...)}, err)
		})
}

// startsHere refuses where no run is begun.
func startsHere(c call) error {
	if c.project.Starts == nil {
		return &Problem{Status: http.StatusNotFound, Code: "not_found", Detail: "No run is begun here.", Fix: "Begin it by forge run."}
	}
	return nil
}

func noDraft(err error) error {
	if errors.Is(err, web.ErrNoDraft) {
		return &Problem{Status: http.StatusNotFound, Code: "not_found", Detail: "There is no such draft of a plan, or not any more.", Fix: "A run may have begun with it."}
	}
	return err
}
