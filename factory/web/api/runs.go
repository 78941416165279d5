package api

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"forge/factory/web"
	"forge/internal/work"
)

// InRun is an operation on one run or job.
type InRun struct {
	InProject
	Run string `path:"run" maxLength:"100" doc:"The run's whole id."`
}

// ListRuns is a page of runs or jobs.
type ListRuns struct {
	InProject
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	After string `query:"after" maxLength:"100" doc:"Those older than this one."`
}

type runPage struct {
	Runs []web.Run `json:"runs"`
	Next string    `json:"next,omitempty" doc:"For after; absent when that was all."`
}

// EventQuery is a page of a run's journal.
type EventQuery struct {
	InRun
	After int64 `query:"after" minimum:"0" doc:"Events after this number."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

type eventPage struct {
	Events []work.Event `json:"events"`
	Next   int64        `json:"next,omitempty" doc:"For after; absent when that was all there is by now."`
}

// OutputQuery asks for what an agent printed.
type OutputQuery struct {
	InRun
	Phase     string `path:"phase" maxLength:"20" pattern:"^[0-9]+(\\.[0-9]+)?$"`
	Iteration int    `path:"iteration" minimum:"1"`
	Attempt   int    `query:"attempt" minimum:"1" default:"1"`
	Bytes     int    `query:"bytes" minimum:"1" maximum:"262144" default:"65536" doc:"At most so many of the last ones."`
}

type output struct {
	Text string `json:"text" doc:"Secrets taken out; what is not UTF-8 is replaced."`
}

// changes is what a run changed so far.
type changes struct {
	From string `json:"from,omitempty" doc:"Commit that To is compared with."`
	To   string `json:"to,omitempty" doc:"What landed, else what is merged so far, else what its phase made last; absent = nothing is changed yet."`
	Diff string `json:"diff" doc:"As git writes it; long ones are cut."`

	Repositories []repositoryChanges `json:"repositories,omitempty" doc:"Of a run of several, each in which anything landed; the fields beside are home's."`
}

// repositoryChanges is what a run changed in one of its repositories.
type repositoryChanges struct {
	Repository string `json:"repository" doc:"As the configuration calls it; home is the checkout itself."`
	From       string `json:"from"`
	To         string `json:"to"`
	Diff       string `json:"diff"`
}

func runChanges(c call, run string) (out changes, err error) {
	if _, err := findRun(c, run); err != nil {
		return out, err
	}
	st, err := c.project.Runs.State(c, run)
	if err != nil {
		return out, err
	}
	if out.From, out.To = web.ChangeOf(st); out.To != "" {
		out.Diff, err = c.project.Code.Diff(c, out.From, out.To)
	}
	for _, r := range st.Results() {
		if err != nil {
			return out, err
		}
		one := repositoryChanges{Repository: r.Repository, From: r.Base.Commit, To: r.Commit}
		one.Diff, err = c.project.Code.Diff(c, one.From, one.To)
		out.Repositories = append(out.Repositories, one)
	}
	return out, err
}

// SetLevel changes a run's policy.
type SetLevel struct {
	InRun
	Body struct {
		Level string `json:"level" minLength:"1" maxLength:"64" doc:"Name of a policy."`
	}
}

// TellAgent says something to a working agent.
type TellAgent struct {
	InRun
	Body struct {
		Phase string `json:"phase,omitempty" maxLength:"64" doc:"Number of the phase; absent = the one that is worked on."`
		Text  string `json:"text,omitempty" maxLength:"8192" doc:"What you say. It is in the phase's next prompt, and nothing of the phase is merged before."`
		Now   bool   `json:"now,omitempty" doc:"End the iteration that is under way, keep its work, and begin the next with it."`
		Anew  bool   `json:"anew,omitempty" doc:"Go on in a new session, which gets a summary of what happened; the text may be empty."`

		With []work.Attached `json:"with,omitempty" maxItems:"8" doc:"Files and lines that go with the text, about 7 KB together."`
	}
}

// GoBack asks for a phase, or a new run, to go on from what an iteration left.
type GoBack struct {
	InRun
	Body struct {
		Phase     string `json:"phase" minLength:"1" maxLength:"64" doc:"Number of the phase."`
		Iteration int    `json:"iteration" minimum:"0" doc:"0 = what the phase began with."`
		Attempt   int    `json:"attempt,omitempty" minimum:"0" doc:"At that iteration; absent = the newest."`
		Text      string `json:"text,omitempty" maxLength:"8192" doc:"What you say to the agent of the phase."`
	}
}

func (b GoBack) rewind() work.Rewind {
	return work.Rewind{Phase: b.Body.Phase, Iteration: b.Body.Iteration, Attempt: b.Body.Attempt, Text: b.Body.Text}
}

func (a *API) runRoutes() {
	const path = "/projects/{project}/runs"
	add(a, Route{ID: "list-runs", Method: http.MethodGet, Path: path, Role: web.RoleViewer, Summary: "Runs and jobs, the newest first", Tag: "runs"},
		func(c call, in *ListRuns) (*Answer[runPage], error) { return listRuns(c, in, false) })
	add(a, Route{ID: "show-run", Method: http.MethodGet, Path: path + "/{run}", Role: web.RoleViewer, Summary: "Where a run stands: what forge status --output json says, with reviews, findings, what it used, and where its result is", Tag: "runs"},
		func(c call, in *InRun) (*Answer[Status], error) {
			row, err := findRun(c, in.Run)
			if err != nil {
				return nil, err
			}
			return answer(status(c, row))
		})
	add(a, Route{ID: "run-events", Method: http.MethodGet, Path: path + "/{run}/events", Role: web.RoleViewer, Summary: "The run's journal", Tag: "runs"},
		func(c call, in *EventQuery) (*Answer[eventPage], error) {
			if _, err := findRun(c, in.Run); err != nil {
				return nil, err
			}
			list, err := c.project.Runs.Events(c, in.Run, in.After, in.Limit+1)
			out := eventPage{Events: []work.Event{}}
			if len(list) > in.Limit {
				list = list[:in.Limit]
				out.Next = list[in.Limit-1].Seq
			}
			out.Events = append(out.Events, list...)
			return answer(out, err)
		})
	add(a, Route{ID: "run-output", Method: http.MethodGet, Path: path + "/{run}/phases/{phase}/iterations/{iteration}/output", Role: web.RoleViewer, Summary: "The last of what the agent printed in an iteration", Tag: "runs"},
		func(c call, in *OutputQuery) (*Answer[output], error) {
			if _, err := findRun(c, in.Run); err != nil {
				return nil, err
			}
			data, err := c.project.Runs.Output(c, in.Run, in.Phase, in.Iteration, in.Attempt, in.Bytes)
			return answer(output{Text: strings.ToValidUTF8(string(data), "\uFFFD")}, err)
		})
	a.pictureRoute(path)
	add(a, Route{ID: "run-changes", Method: http.MethodGet, Path: path + "/{run}/changes", Role: web.RoleViewer, Summary: "What a run or job changed: while it works, while it waits, and after it landed", Tag: "runs"},
		func(c call, in *InRun) (*Answer[changes], error) { return answer(runChanges(c, in.Run)) })
	add(a, Route{ID: "cancel-run", Method: http.MethodPost, Path: path + "/{run}/cancel", Role: web.RoleOperator, Summary: "End a run or job, or the issue whose run it is; its agents are stopped", Tag: "runs"},
		func(c call, in *InRun) (*Answer[Status], error) { return cancelRun(c, in.Run) })
	add(a, Route{ID: "tell-agent", Method: http.MethodPost, Path: path + "/{run}/messages", Role: web.RoleReviewer, Summary: "Say something to the agent of a phase while it works", Tag: "runs"},
		func(c call, in *TellAgent) (*Answer[work.Told], error) {
			if _, err := findRun(c, in.Run); err != nil {
				return nil, err
			}
			b := in.Body
			return answer(c.project.Questions.Tell(c, in.Run, work.Message{Phase: b.Phase, Text: b.Text, Now: b.Now, Anew: b.Anew, Attached: b.With}, c.who.Name, "api"))
		})
	add(a, Route{ID: "rewind-phase", Method: http.MethodPost, Path: path + "/{run}/rewind", Role: web.RoleReviewer, Summary: "Let a phase go on from what one of its iterations left", Tag: "runs"},
		func(c call, in *GoBack) (*Answer[work.Rewound], error) {
			if _, err := findRun(c, in.Run); err != nil {
				return nil, err
			}
			return answer(c.project.Questions.Rewind(c, in.Run, in.rewind(), c.who.Name, "api"))
		})
	add(a, Route{ID: "set-level", Method: http.MethodPost, Path: path + "/{run}/level", Role: web.RoleAdmin, Summary: "Change a run's policy from its next boundary on", Tag: "runs"},
		func(c call, in *SetLevel) (*Answer[Status], error) {
			row, err := findRun(c, in.Run)
			if err != nil {
				return nil, err
			}
			if err := a.checkLevel(c, "body.level", in.Body.Level); err != nil {
				return nil, err
			}
			if err := c.project.Questions.SetLevel(c, in.Run, in.Body.Level, c.who.Name, "api"); err != nil {
				return nil, err
			}
			return answer(status(c, row))
		})
}

func listRuns(c call, in *ListRuns, jobs bool) (*Answer[runPage], error) {
	out := runPage{Runs: []web.Run{}}
	after := in.After
	if after != "" {
		if _, err := findRun(c, after); err != nil {
			return nil, err
		}
	}
	for {
		list, err := c.project.Runs.Runs(c, in.Limit+1, after)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if jobs && !r.Job {
				continue
			}
			if len(out.Runs) == in.Limit {
				out.Next = out.Runs[in.Limit-1].ID
				return answer(out, nil)
			}
			out.Runs = append(out.Runs, r)
		}
		if len(list) <= in.Limit {
			return answer(out, nil)
		}
		after = list[len(list)-1].ID
	}
}

func cancelRun(c call, run string) (*Answer[Status], error) {
	row, err := findRun(c, run)
	if err != nil {
		return nil, err
	}
	if row.Outcome.Final() {
		return nil, &Problem{Status: http.StatusConflict, Code: "refused", Detail: "Run " + run + " is " + string(row.Outcome) + ": there is nothing to cancel."}
	}
	if row.Issue != 0 {
		// As on its page: that nobody works on it is said of its issue.
		if _, err := c.project.Floor.CancelIssue(c, row.Issue, c.by("by its run")); err != nil {
			return nil, err
		}
	} else if err := c.project.Jobs.Cancel(c, run, c.who.Name); err != nil {
		return nil, err
	}
	if row, err = findRun(c, run); err != nil {
		return nil, err
	}
	return answer(status(c, row))
}

// findRun is the line of one run of the project.
func findRun(c call, id string) (web.Run, error) {
	row, err := c.project.Runs.Run(c, id)
	if errors.Is(err, fs.ErrNotExist) {
		err = notFound("unknown_run", "There is no such run.", "List the project's runs.")
	}
	return row, err
}
