package vibekanban

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// tables are what of a database belongs together, by id.
type tables struct {
	d        *database
	order    []string // of projects
	projects map[string]*Project
	scripts  map[string]bool   // projects that have some
	repos    map[string]string // folders
	tasks    map[string]*dbTask
	attempts map[string]*dbAttempt
	left     map[string]int // what is of no task, counted
}

type dbTask struct {
	Task
	project, parent string
	attempts        []string
}

type dbAttempt struct {
	Attempt
	task string
}

// board reads all that is taken along.
func (d *database) board() (Board, error) {
	t := &tables{
		d: d, projects: map[string]*Project{}, scripts: map[string]bool{}, repos: map[string]string{},
		tasks: map[string]*dbTask{}, attempts: map[string]*dbAttempt{}, left: map[string]int{},
	}
	var order []string
	for _, step := range []func() error{
		t.readProjects, t.readRepos, func() (err error) { order, err = t.readTasks(); return err },
		t.readAttempts, t.readTargets, t.readMerges, t.readFiles, t.readOthers,
	} {
		if err := step(); err != nil {
			return Board{}, err
		}
	}

	for _, id := range order {
		task := t.tasks[id]
		for _, a := range task.attempts {
			task.Attempts = append(task.Attempts, t.attempts[a].Attempt)
		}
		if of := t.attempts[task.parent]; of != nil && t.tasks[of.task] != nil {
			task.Parent = t.tasks[of.task].Title
		}
		if p := t.projects[task.project]; p != nil {
			p.Tasks = append(p.Tasks, task.Task)
		} else {
			t.left["tasks of no project"]++
		}
	}
	var b Board
	for _, id := range t.order {
		p := t.projects[id]
		if t.scripts[id] {
			p.Left = append(p.Left, "its scripts and the list of files to copy: [worktree] of .forge/forge.toml has such")
		}
		b.Projects = append(b.Projects, *p)
	}
	for _, what := range slices.Sorted(maps.Keys(t.left)) {
		b.Left = append(b.Left, fmt.Sprintf("%d %s", t.left[what], what))
	}
	return b, nil
}

func (t *tables) readProjects() error {
	d := t.d
	script := "'' "
	for _, c := range []string{"setup_script", "dev_script", "cleanup_script", "copy_files"} {
		if d.has("projects", c) {
			script += "|| coalesce(substr(CAST(" + c + " AS TEXT), 1, 1), '') "
		}
	}
	return d.all("projects", "created_at", func(row []string) error {
		p := &Project{ID: uuid(row[0]), Name: row[1]}
		if row[2] != "" {
			p.Repos = []string{row[2]}
		}
		t.order, t.projects[row[0]], t.scripts[row[0]] = append(t.order, row[0]), p, row[3] != ""
		return nil
	}, d.id("projects", "id"), d.words("projects", "name"), d.words("projects", "git_repo_path"), script)
}

func (t *tables) readRepos() error {
	d := t.d
	err := d.all("repos", "created_at", func(row []string) error {
		t.repos[row[0]] = row[1]
		return nil
	}, d.id("repos", "id"), d.words("repos", "path"))
	if err != nil {
		return err
	}
	return d.all("project_repos", "rowid", func(row []string) error {
		if p := t.projects[row[0]]; p != nil && t.repos[row[1]] != "" {
			p.Repos = append(p.Repos, t.repos[row[1]])
		}
		return nil
	}, d.id("project_repos", "project_id"), d.id("project_repos", "repo_id"))
}

// readTasks reads the tasks, and says in which order they stand.
func (t *tables) readTasks() (order []string, err error) {
	d := t.d
	err = d.all("tasks", "created_at", func(row []string) error {
		if len(order) == maxTasks {
			return errLarge
		}
		if t.tasks[row[0]] != nil { // one as a blob, one as text
			t.left["tasks whose id another task has"]++
			return nil
		}
		order = append(order, row[0])
		t.tasks[row[0]] = &dbTask{project: row[1], parent: row[6], Task: Task{
			Key: uuid(row[0]), Name: uuid(row[0]), Title: row[2], Description: row[3], Status: row[4], Created: row[5],
		}}
		return nil
	}, d.id("tasks", "id"), d.id("tasks", "project_id"), d.words("tasks", "title"), d.words("tasks", "description"),
		d.words("tasks", "status"), d.words("tasks", "created_at"), d.id("tasks", "parent_workspace_id", "parent_task_attempt"))
	return order, err
}

func (t *tables) readAttempts() error {
	d, table := t.d, t.d.attempts()
	err := d.all(table, "created_at", func(row []string) error {
		task := t.tasks[row[1]]
		if task == nil {
			t.left["attempts (workspaces) of no task"]++
			return nil
		}
		a := &dbAttempt{task: row[1], Attempt: Attempt{Branch: row[2], Agent: row[4], Created: row[5]}}
		if row[3] != "" {
			a.Targets = []string{row[3]}
		}
		if row[6] != "" {
			a.Merged = []string{row[6]}
		}
		t.attempts[row[0]], task.attempts = a, append(task.attempts, row[0])
		return nil
	}, d.id(table, "id"), d.id(table, "task_id"), d.words(table, "branch"), d.words(table, "target_branch", "base_branch"),
		d.words(table, "executor"), d.words(table, "created_at"), d.words(table, "merge_commit"))
	if err != nil {
		return err
	}
	return d.all("sessions", "created_at", func(row []string) error {
		if a := t.attempts[row[0]]; a != nil && a.Agent == "" {
			a.Agent = row[1]
		}
		return nil
	}, d.id("sessions", "workspace_id"), d.words("sessions", "executor"))
}

// readTargets reads which branches of which repositories attempts began from.
func (t *tables) readTargets() error {
	d, table := t.d, t.d.first("workspace_repos", "attempt_repos")
	return d.all(table, "rowid", func(row []string) error {
		a := t.attempts[row[0]]
		if a == nil || row[2] == "" {
			return nil
		}
		target := row[2]
		if p := t.projects[t.tasks[a.task].project]; p != nil && len(p.Repos) > 1 {
			target += " of " + t.repos[row[1]]
		}
		a.Targets = append(a.Targets, target)
		return nil
	}, d.id(table, "workspace_id", "attempt_id"), d.id(table, "repo_id"), d.words(table, "target_branch"))
}

func (t *tables) readMerges() error {
	d := t.d
	err := d.all("merges", "created_at", func(row []string) error {
		a := t.attempts[row[0]]
		switch {
		case a == nil:
		case row[3] != "":
			a.Pulls = append(a.Pulls, Pull{URL: row[3], Status: row[4], Target: row[2]})
		case row[1] != "":
			a.Merged = append(a.Merged, row[1]+" on "+row[2])
		}
		return nil
	}, d.id("merges", "workspace_id", "task_attempt_id"), d.words("merges", "merge_commit"), d.words("merges", "target_branch_name"),
		d.words("merges", "pr_url"), d.words("merges", "pr_status"))
	if err != nil {
		return err
	}
	return d.all("tracked_prs", "created_at", func(row []string) error {
		if a := t.attempts[row[0]]; a != nil {
			a.Pulls = append(a.Pulls, Pull{URL: row[1], Status: row[2], Target: row[3]})
		} else {
			t.left["pull requests of no task"]++
		}
		return nil
	}, d.id("tracked_prs", "workspace_id"), d.words("tracked_prs", "pr_url"), d.words("tracked_prs", "pr_status"), d.words("tracked_prs", "target_branch_name"))
}

// readFiles reads what is attached to tasks.
func (t *tables) readFiles() error {
	d := t.d
	names, files, of := map[string]string{}, d.first("attachments", "images"), d.first("task_attachments", "task_images")
	err := d.all(files, "rowid", func(row []string) error {
		names[row[0]] = row[1]
		return nil
	}, d.id(files, "id"), d.words(files, "original_name"))
	if err != nil {
		return err
	}
	return d.all(of, "rowid", func(row []string) error {
		if task := t.tasks[row[0]]; task != nil {
			task.Attachments = append(task.Attachments, names[row[1]])
		}
		return nil
	}, d.id(of, "task_id"), d.id(of, "attachment_id", "image_id"))
}

// readOthers counts rows that look like cards of a board and are read by nobody: what
// a form that is not known keeps elsewhere is said. A card has a title and stands
// somewhere.
func (t *tables) readOthers() error {
	for _, table := range slices.Sorted(maps.Keys(t.d.tables)) {
		if table == "tasks" || !t.d.has(table, "title") || !t.d.has(table, "status") && !t.d.has(table, "status_id") {
			continue
		}
		err := t.d.each(`SELECT count(*) FROM "`+strings.ReplaceAll(table, `"`, `""`)+`"`, 1, func(row []string) error {
			n, err := strconv.Atoi(row[0])
			if n > 0 {
				t.left["rows of the table "+table+", which is not read"] = n
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
