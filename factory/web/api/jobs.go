package api

import (
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"forge/factory/web"
	"forge/internal/text"
)

// Bounds of what a job is started with.
const (
	maxDocuments     = 50
	maxDocumentBytes = 8 << 20 // together
)

// StartJob is what a job is started with.
type StartJob struct {
	InProject
	Body struct {
		Description string            `json:"description" minLength:"1" maxLength:"65536"`
		Expert      string            `json:"expert,omitempty" maxLength:"64"`
		Level       string            `json:"level,omitempty" maxLength:"64" doc:"Takes the role admin."`
		Documents   map[string][]byte `json:"documents,omitempty" doc:"By name, in base64."`
		Sources     []string          `json:"data_sources,omitempty" maxItems:"50" nullable:"false"`
	}
}

// jobChoices are what a job may be started with.
type jobChoices struct {
	Experts []string `json:"experts"`
	Sources []string `json:"data_sources"`
	Levels  []string `json:"levels"`
}

func (a *API) jobRoutes() {
	const path = "/projects/{project}/jobs"
	add(a, Route{ID: "list-jobs", Method: http.MethodGet, Path: path, Role: web.RoleViewer, Summary: "Jobs, the newest first", Tag: "jobs"},
		func(c call, in *ListRuns) (*Answer[runPage], error) { return listRuns(c, in, true) })
	add(a, Route{ID: "job-choices", Method: http.MethodGet, Path: path + "/choices", Role: web.RoleViewer, Summary: "The experts, data sources and levels that a job may be started with", Tag: "jobs"},
		func(c call, _ *InProject) (*Answer[jobChoices], error) {
			experts, err := c.project.Jobs.Experts(c)
			if err != nil {
				return nil, err
			}
			sources, err := c.project.Jobs.Sources(c)
			if err != nil {
				return nil, err
			}
			levels, err := c.project.Jobs.Levels(c)
			return answer(jobChoices{append([]string{}, experts...), append([]string{}, sources...), levels.Values()}, err)
		})
	add(a, Route{ID: "start-job", Method: http.MethodPost, Path: path, Role: web.RoleOperator, Summary: "Start a job, which the server drives", Tag: "jobs", MaxBody: 2*maxDocumentBytes + 1<<20}, a.startJob)
	add(a, Route{ID: "show-job", Method: http.MethodGet, Path: path + "/{run}", Role: web.RoleViewer, Summary: "Where a job stands, with its plan, todos and workspace", Tag: "jobs"}, showJob)
	add(a, Route{ID: "cancel-job", Method: http.MethodPost, Path: path + "/{run}/cancel", Role: web.RoleOperator, Summary: "End a job; its agents are stopped", Tag: "jobs"},
		func(c call, in *InRun) (*Answer[Status], error) {
			if _, err := findJob(c, in.Run); err != nil {
				return nil, err
			}
			return cancelRun(c, in.Run)
		})
}

func findJob(c call, id string) (web.Run, error) {
	row, err := findRun(c, id)
	if err == nil && !row.Job {
		err = notFound("unknown_job", "That run is not a job.", "List the project's jobs.")
	}
	return row, err
}

func (a *API) startJob(c call, in *StartJob) (*Answer[Status], error) {
	b := in.Body
	if strings.TrimSpace(b.Description) == "" {
		return nil, invalid("body.description", "say what is wanted")
	}
	if b.Level != "" && !c.who.May(c.project.ID, web.RoleAdmin) {
		return nil, forbidden(web.RoleAdmin, c)
	}
	for name, known := range map[string]func() ([]string, error){
		b.Expert: func() ([]string, error) { return c.project.Jobs.Experts(c) },
		b.Level: func() ([]string, error) {
			levels, err := c.project.Jobs.Levels(c)
			return levels.Values(), err
		},
	} {
		if name == "" {
			continue
		}
		if list, err := known(); err != nil {
			return nil, err
		} else if !slices.Contains(list, name) {
			return nil, invalid("body", text.OneLine(name, mostSaid)+" is not one of "+strings.Join(list, ", "))
		}
	}
	if err := checkDocuments(b.Documents); err != nil {
		return nil, err
	}
	if len(b.Sources) > 0 {
		known, err := c.project.Jobs.Sources(c)
		if err != nil {
			return nil, err
		}
		for _, s := range b.Sources {
			if !slices.Contains(known, s) {
				return nil, invalid("body.data_sources", text.OneLine(s, mostSaid)+" is not one of "+strings.Join(known, ", "))
			}
		}
	}
	id, err := c.project.Jobs.Start(c, web.JobOrder{
		Description: unixLines(b.Description), Expert: b.Expert, Level: b.Level, Documents: b.Documents, Sources: b.Sources, By: c.who.Name,
	})
	if err != nil {
		return nil, err
	}
	row, err := findRun(c, id)
	if err != nil {
		return nil, err
	}
	return answer(status(c, row))
}

// checkDocuments refuses names that are no plain files of one folder.
func checkDocuments(all map[string][]byte) error {
	if len(all) > maxDocuments {
		return invalid("body.documents", "there are more than 50")
	}
	size := 0
	for name, data := range all {
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "/\\") || strings.HasPrefix(name, ".") || strings.TrimSpace(name) != name || text.Hides(name) || len(name) > 200 {
			return invalid("body.documents", text.OneLine(name, mostSaid)+" is not a plain file name")
		}
		size += len(data)
	}
	if size > maxDocumentBytes {
		return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Detail: "The documents are too much together.", Fix: "Send less than 8 MB, or name a data source."}
	}
	return nil
}
