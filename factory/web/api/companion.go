package api

import (
	"net/http"

	"forge/factory/web"
	"forge/internal/work"
)

// AboutRun is what is talked about.
type AboutRun struct {
	InProject
	Run string `query:"run" maxLength:"100" doc:"The run or job; absent: the whole project."`
}

// AskCompanion is a question.
type AskCompanion struct {
	InProject
	Body struct {
		Run      string `json:"run,omitempty" maxLength:"100" doc:"The run or job that it is about; absent: the whole project."`
		Question string `json:"question" minLength:"1" maxLength:"8192"`
	}
}

// InProposal is a proposal of the companion.
type InProposal struct {
	InProject
	Proposal int64  `path:"proposal" minimum:"1" doc:"The proposal's number in its conversation."`
	Run      string `query:"run" maxLength:"100" doc:"The run or job that the conversation is about; absent: the whole project."`
}

func (a *API) companionRoutes() {
	const path = "/projects/{project}/companion"
	add(a, Route{ID: "show-conversation", Method: http.MethodGet, Path: path, Role: web.RoleViewer, Summary: "What was asked of the companion, what it looked up, answered and proposed", Tag: "companion"},
		func(c call, in *AboutRun) (*Answer[work.Talk], error) {
			on, err := companion(c, in.Run)
			if err != nil {
				return nil, err
			}
			return answer(on.Talk(c, in.Run))
		})
	add(a, Route{ID: "ask-companion", Method: http.MethodPost, Path: path + "/questions", Role: web.RoleReviewer, Summary: "Ask the companion, and wait for its answer; it changes nothing", Tag: "companion"},
		func(c call, in *AskCompanion) (*Answer[work.TalkTurn], error) {
			on, err := companion(c, in.Body.Run)
			if err != nil {
				return nil, err
			}
			return answer(on.Ask(c, in.Body.Run, in.Body.Question, asker(c), nil))
		})
	for _, one := range []struct {
		id, word, summary string
		do                func(on web.Companion, c call, in *InProposal) (work.TalkProposal, error)
	}{
		{"confirm-proposal", "confirm", "Have a proposal of the companion carried out, once; it takes the role that the proposal names", func(on web.Companion, c call, in *InProposal) (work.TalkProposal, error) {
			return on.Confirm(c, in.Run, in.Proposal, asker(c))
		}},
		{"dismiss-proposal", "dismiss", "End a proposal of the companion; nothing is done", func(on web.Companion, c call, in *InProposal) (work.TalkProposal, error) {
			return on.Dismiss(c, in.Run, in.Proposal, asker(c))
		}},
	} {
		add(a, Route{ID: one.id, Method: http.MethodPost, Path: path + "/proposals/{proposal}/" + one.word, Role: web.RoleReviewer, Summary: one.summary, Tag: "companion"},
			func(c call, in *InProposal) (*Answer[work.TalkProposal], error) {
				on, err := companion(c, in.Run)
				if err != nil {
					return nil, err
				}
				return answer(one.do(on, c, in))
			})
	}
}

// companion is who is talked to about a run that is there, or with "" about the
// project.
func companion(c call, run string) (web.Companion, error) {
	if c.project.Companion == nil {
		return nil, notFound("no_companion", "Nobody is talked to here.", "")
	}
	if run != "" {
		if _, err := findRun(c, run); err != nil {
			return nil, err
		}
	}
	return c.project.Companion, nil
}

// asker is who asks, with what they may.
func asker(c call) web.Asker {
	return web.Asker{Name: c.who.Name, Role: c.who.Role(c.project.ID), Door: "api"}
}
