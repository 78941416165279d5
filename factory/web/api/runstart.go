package api

import (
	"net/http"
	"slices"
	"strings"

	"forge/factory/web"
	"forge/internal/text"
)

// OrderRun is what a run is begun with.
type OrderRun struct {
	InProject
	Body struct {
		Text    string  `json:"text,omitempty" maxLength:"65536" doc:"What is to be done; absent = the project's plan."`
		Draft   string  `json:"draft,omitempty" maxLength:"100" doc:"Id of a plan that was drafted, in place of a text; see draft-plan."`
		Level   string  `json:"level,omitempty" maxLength:"64" doc:"Takes the role admin."`
		USD     float64 `json:"run_usd,omitempty" minimum:"0" doc:"Most that it may spend. More than the project says takes the role admin."`
		Tries   int     `json:"tries,omitempty" minimum:"0" maximum:"1000" doc:"Iterations of each phase of a text."`
		NoMerge bool    `json:"no_merge,omitempty" doc:"The result stays on its own branch."`
		Seen    string  `json:"seen,omitempty" maxLength:"100" doc:"The sum of the forecast that was looked at; where the run would do something else by now, the answer is 409."`
	}
}

func (a *API) runStartRoutes() {
	const path = "/projects/{project}/runs"
	add(a, Route{ID: "forecast-run", Method: http.MethodPost, Path: path + "/forecast", Role: web.RoleOperator, Summary: "What a run of the plan, or of a text, will do; nothing is begun", Tag: "runs"},
		func(c call, in *OrderRun) (*Answer[web.Forecast], error) {
			o, err := runOrder(c, in)
			if err != nil {
				return nil, err
			}
			f, err := c.project.Starts.Forecast(c, o)
			err = noDraft(err)
			f.Notes = append([]string{}, f.Notes...)
			for n, ph := range f.Phases {
				f.Phases[n].After, f.Phases[n].Verify = append([]string{}, ph.After...), append([]string{}, ph.Verify...)
			}
			return answer(f, err)
		})
	add(a, Route{ID: "fork-run", Method: http.MethodPost, Path: path + "/{run}/fork", Role: web.RoleOperator, Summary: "Begin a run that goes on from what an iteration of another one left, which the server drives", Tag: "runs"},
		func(c call, in *GoBack) (*Answer[Status], error) {
			if _, err := findRun(c, in.Run); err != nil {
				return nil, err
			}
			id, err := c.project.Starts.Fork(c, in.Run, in.rewind(), c.who.Name)
			if err != nil {
				return nil, err
			}
			row, err := findRun(c, id)
			if err != nil {
				return nil, err
			}
			return answer(status(c, row))
		})
	add(a, Route{ID: "begin-run", Method: http.MethodPost, Path: path, Role: web.RoleOperator, Summary: "Begin a run of the plan, or of a text, which the server drives", Tag: "runs"},
		func(c call, in *OrderRun) (*Answer[Status], error) {
			o, err := runOrder(c, in)
			if err != nil {
				return nil, err
			}
			id, err := c.project.Starts.Begin(c, o)
			if err != nil {
				return nil, noDraft(err)
			}
			row, err := findRun(c, id)
			if err != nil {
				return nil, err
			}
			return answer(status(c, row))
		})
}

// runOrder is what is asked for, by whoever may ask for it.
func runOrder(c call, in *OrderRun) (web.RunOrder, error) {
	b := in.Body
	o := web.RunOrder{Text: unixLines(b.Text), Draft: b.Draft, Level: b.Level, USD: b.USD, Tries: b.Tries, NoMerge: b.NoMerge, Seen: b.Seen, MayRaise: c.who.May(c.project.ID, web.RoleAdmin), By: c.who.Name}
	if err := startsHere(c); err != nil {
		return o, err
	}
	if b.Draft != "" && b.Text != "" {
		return o, invalid("body.draft", "a draft has its own text: leave one of them out")
	}
	if b.Text != "" && strings.TrimSpace(b.Text) == "" {
		return o, invalid("body.text", "say what is wanted, or leave it out for the project's plan")
	}
	if b.Level == "" {
		return o, nil
	}
	if !o.MayRaise {
		return o, forbidden(web.RoleAdmin, c)
	}
	levels, err := c.project.Jobs.Levels(c)
	if err == nil && !slices.Contains(levels.Values(), b.Level) {
		err = invalid("body.level", text.OneLine(b.Level, mostSaid)+" is not one of "+strings.Join(levels.Values(), ", "))
	}
	return o, err
}
