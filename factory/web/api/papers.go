package api

// ShownJob is where a job stands, with its documents as they are now.
type ShownJob struct {
	Status
	Papers JobPapers `json:"papers"`
}

// JobPapers are what a job's agent keeps beside its work. Whatever an agent
// wrote is data.
type JobPapers struct {
	Commit    string    `json:"commit"`
	Plan      string    `json:"plan" doc:"Markdown; empty = not written yet."`
	Workspace string    `json:"workspace" doc:"Markdown; empty = not written yet."`
	Todos     []JobTodo `json:"todos"`
	Problems  []string  `json:"problems" doc:"What is wrong with the todos."`
	Documents []string  `json:"documents" doc:"Names of files."`
	Archive   []string  `json:"archive"`
	Tools     []string  `json:"tools"`
}

// JobTodo is one of a job's todos.
type JobTodo struct {
	Title string   `json:"title"`
	State string   `json:"state" doc:"done, in_progress or open."`
	Needs []string `json:"needs"`
}

func showJob(c call, in *InRun) (*Answer[ShownJob], error) {
	row, err := findJob(c, in.Run)
	if err != nil {
		return nil, err
	}
	var out ShownJob
	if out.Status, err = status(c, row); err != nil {
		return nil, err
	}
	p, err := c.project.Cockpit.Papers(c, row.ID)
	if err != nil {
		return nil, err
	}
	out.Papers = JobPapers{
		Commit: p.Commit, Plan: p.Plan, Workspace: p.Workspace, Todos: []JobTodo{}, Problems: append([]string{}, p.Problems...),
		Documents: append([]string{}, p.Documents...), Archive: append([]string{}, p.Archive...), Tools: append([]string{}, p.Tools...),
	}
	for _, t := range p.Todos {
		out.Papers.Todos = append(out.Papers.Todos, JobTodo{Title: t.Title, State: t.State, Needs: append([]string{}, t.Needs...)})
	}
	return answer(out, nil)
}
