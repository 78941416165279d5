package vibekanban

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"forge/internal/refusal"
)

// The forms of the database, in tables of our own that have the names and columns of
// the real ones which matter, each with the migrations of Vibe Kanban that made it so.
const (
	// 20250617183714 and those up to July 2025.
	form2025Summer = `
		CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, success BOOLEAN NOT NULL);
		INSERT INTO _sqlx_migrations VALUES (20250617183714, 'init', 1), (20250716143725, 'a later one', 1);
		CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL, git_repo_path TEXT NOT NULL DEFAULT '' UNIQUE, setup_script TEXT DEFAULT '', created_at TEXT NOT NULL, updated_at TEXT NOT NULL DEFAULT '');
		CREATE TABLE tasks (id BLOB PRIMARY KEY, project_id BLOB NOT NULL REFERENCES projects(id), title TEXT NOT NULL, description TEXT,
			status TEXT NOT NULL DEFAULT 'todo' CHECK (status IN ('todo','inprogress','done','cancelled','inreview')), parent_task_attempt BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL DEFAULT '');
		CREATE TABLE task_attempts (id BLOB PRIMARY KEY, task_id BLOB NOT NULL REFERENCES tasks(id), worktree_path TEXT NOT NULL DEFAULT '', branch TEXT NOT NULL, base_branch TEXT NOT NULL,
			merge_commit TEXT, executor TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL DEFAULT '');
		CREATE TABLE execution_processes (id BLOB PRIMARY KEY, task_attempt_id BLOB NOT NULL, status TEXT NOT NULL, stdout TEXT);`

	// 20250815121849 (images), merges of August, target_branch of September.
	form2025Autumn = `
		CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, success BOOLEAN NOT NULL);
		INSERT INTO _sqlx_migrations VALUES (20250617183714, 'init', 1), (20251114000000, 'a later one', 1);
		CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL, git_repo_path TEXT NOT NULL DEFAULT '' UNIQUE, setup_script TEXT, dev_script TEXT, cleanup_script TEXT, copy_files TEXT, remote_project_id BLOB, created_at TEXT NOT NULL);
		CREATE TABLE tasks (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, title TEXT NOT NULL, description TEXT, status TEXT NOT NULL DEFAULT 'todo', parent_task_attempt BLOB, created_at TEXT NOT NULL);
		CREATE TABLE task_attempts (id BLOB PRIMARY KEY, task_id BLOB NOT NULL, container_ref TEXT, branch TEXT, target_branch TEXT NOT NULL, executor TEXT NOT NULL, worktree_deleted BOOLEAN NOT NULL DEFAULT 0, setup_completed_at DATETIME, created_at TEXT NOT NULL);
		CREATE TABLE merges (id BLOB PRIMARY KEY, task_attempt_id BLOB NOT NULL, merge_type TEXT NOT NULL CHECK (merge_type IN ('direct','pr')), merge_commit TEXT, pr_number INTEGER, pr_url TEXT, pr_status TEXT, target_branch_name TEXT NOT NULL, created_at TEXT NOT NULL);
		CREATE TABLE images (id BLOB PRIMARY KEY, file_path TEXT NOT NULL, original_name TEXT NOT NULL);
		CREATE TABLE task_images (id BLOB PRIMARY KEY, task_id BLOB NOT NULL, image_id BLOB NOT NULL);
		CREATE TABLE executor_sessions (id BLOB PRIMARY KEY, task_attempt_id BLOB NOT NULL, prompt TEXT);
		CREATE TABLE shared_tasks (id BLOB PRIMARY KEY, title TEXT NOT NULL, status TEXT NOT NULL);`

	// 20251209000000 (repos) and 20251216142123 (workspaces and sessions).
	form2025Winter = `
		CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, success BOOLEAN NOT NULL);
		INSERT INTO _sqlx_migrations VALUES (20250617183714, 'init', 1), (20251216142123, 'refactor task attempts', 1);
		CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL, remote_project_id BLOB, created_at TEXT NOT NULL);
		CREATE TABLE repos (id BLOB PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL, display_name TEXT NOT NULL, created_at TEXT NOT NULL DEFAULT '');
		CREATE TABLE project_repos (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, repo_id BLOB NOT NULL, setup_script TEXT);
		CREATE TABLE tasks (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, title TEXT NOT NULL, description TEXT, status TEXT NOT NULL DEFAULT 'todo', parent_workspace_id BLOB, created_at TEXT NOT NULL);
		CREATE TABLE task_attempts (id BLOB PRIMARY KEY, task_id BLOB NOT NULL, container_ref TEXT, branch TEXT NOT NULL, created_at TEXT NOT NULL);
		ALTER TABLE task_attempts RENAME TO workspaces;
		CREATE TABLE sessions (id BLOB PRIMARY KEY, workspace_id BLOB NOT NULL, executor TEXT, created_at TEXT NOT NULL DEFAULT '');
		CREATE TABLE attempt_repos (id BLOB PRIMARY KEY, attempt_id BLOB NOT NULL, repo_id BLOB NOT NULL, target_branch TEXT NOT NULL);
		CREATE TABLE merges (id BLOB PRIMARY KEY, workspace_id BLOB NOT NULL, repo_id BLOB, merge_type TEXT NOT NULL, merge_commit TEXT, pr_number INTEGER, pr_url TEXT, pr_status TEXT, target_branch_name TEXT NOT NULL, created_at TEXT NOT NULL);
		CREATE TABLE images (id BLOB PRIMARY KEY, file_path TEXT NOT NULL, original_name TEXT NOT NULL);
		CREATE TABLE task_images (id BLOB PRIMARY KEY, task_id BLOB NOT NULL, image_id BLOB NOT NULL);`

	// 20260311000000 (tracked_prs) and 20260317120000 (attachments); attempt_repos are
	// workspace_repos, and a workspace may be of no task.
	form2026 = `
		CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, success BOOLEAN NOT NULL);
		INSERT INTO _sqlx_migrations VALUES (20250617183714, 'init', 1), (20260320120000, 'a later one', 1);
		CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL, remote_project_id BLOB, created_at TEXT NOT NULL);
		CREATE TABLE repos (id BLOB PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL, display_name TEXT NOT NULL, setup_script TEXT, created_at TEXT NOT NULL DEFAULT '');
		CREATE TABLE project_repos (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, repo_id BLOB NOT NULL);
		CREATE TABLE tasks (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, title TEXT NOT NULL, description TEXT, status TEXT NOT NULL DEFAULT 'todo', parent_workspace_id BLOB, created_at TEXT NOT NULL);
		CREATE TABLE workspaces (id BLOB PRIMARY KEY, task_id BLOB, container_ref TEXT, branch TEXT NOT NULL, archived INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0, name TEXT, created_at TEXT NOT NULL);
		CREATE TABLE sessions (id BLOB PRIMARY KEY, workspace_id BLOB NOT NULL, executor TEXT, created_at TEXT NOT NULL DEFAULT '');
		CREATE TABLE workspace_repos (id BLOB PRIMARY KEY, workspace_id BLOB NOT NULL, repo_id BLOB NOT NULL, target_branch TEXT NOT NULL);
		CREATE TABLE merges (id BLOB PRIMARY KEY, workspace_id BLOB NOT NULL, repo_id BLOB, merge_type TEXT NOT NULL, merge_commit TEXT, pr_url TEXT, pr_status TEXT, target_branch_name TEXT NOT NULL, created_at TEXT NOT NULL);
		CREATE TABLE tracked_prs (id TEXT PRIMARY KEY NOT NULL, remote_issue_id TEXT, workspace_id BLOB, repo_id BLOB, pr_url TEXT NOT NULL UNIQUE, pr_number INTEGER NOT NULL, pr_status TEXT NOT NULL DEFAULT 'open', target_branch_name TEXT NOT NULL, created_at DATETIME NOT NULL DEFAULT '');
		CREATE TABLE attachments (id BLOB PRIMARY KEY, file_path TEXT NOT NULL, original_name TEXT NOT NULL);
		CREATE TABLE task_attachments (id BLOB PRIMARY KEY, task_id BLOB NOT NULL, attachment_id BLOB NOT NULL);`
)

// The same two tasks in every form: the second is a part of the first, by whose only
// attempt it was made, and has an attempt that a pull request was made of.
const tasksOf = `
	INSERT INTO tasks (id, project_id, title, description, status, %s, created_at) VALUES
		(X'0b02~', X'0a~', 'Say when', NULL, 'inreview', X'0c~', '2025-07-02 10:00:00.000'),
		(X'0b~', X'0a~', 'Say hello', 'To *everybody*', 'done', NULL, '2025-07-01 10:00:00.000');`

func hexID(first string) string { return first + strings.Repeat("00", 15) }

func tasks(parent string) string { return fmt.Sprintf(tasksOf, parent) }

// makeDatabase writes a database, in the mode in which the program keeps it.
func makeDatabase(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, s := range append([]string{"PRAGMA journal_mode=WAL"}, statements...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

func TestEveryFormOfTheDatabase(t *testing.T) {
	t.Parallel()
	const project = `INSERT INTO projects (id, name, created_at) VALUES (X'0a~', 'App', '2025-07-01');`
	const atPath = `INSERT INTO projects (id, name, git_repo_path, setup_script, created_at) VALUES (X'0a~', 'App', '/src/app', 'npm ci', '2025-07-01');`
	const repos = project + `INSERT INTO repos (id, path, name, display_name) VALUES (X'0d~', '/src/app', 'app', 'app');
		INSERT INTO project_repos (id, project_id, repo_id) VALUES (X'01~', X'0a~', X'0d~');`
	const merged = `INSERT INTO merges (id, %[1]s, merge_type, merge_commit, pr_url, pr_status, target_branch_name, created_at) VALUES
		(X'01~', X'0c~', 'direct', 'abc123', NULL, NULL, 'main', '2025-07-01');`
	const pulled = `INSERT INTO merges (id, %[1]s, merge_type, merge_commit, pr_url, pr_status, target_branch_name, created_at) VALUES
		(X'02~', X'0cc2~', 'pr', NULL, 'https://x/1', 'open', 'main', '2025-07-02');`
	const attempts = `INSERT INTO %s (id, task_id, branch, %s, created_at) VALUES
		(X'0c~', X'0b~', 'vk/hello', %[3]s, '2025-07-01 11:00:00'), (X'0cc2~', X'0b02~', 'vk/when', %[3]s, '2025-07-02 11:00:00');`
	const sessions = `INSERT INTO sessions (id, workspace_id, executor) VALUES (X'01~', X'0c~', 'CODEX'), (X'02~', X'0cc2~', 'CODEX');`
	const targets = `INSERT INTO %s (id, %s, repo_id, target_branch) VALUES (X'01~', X'0c~', X'0d~', 'main'), (X'02~', X'0cc2~', X'0d~', 'main');`

	hello := Task{Key: uuid(hexID("0b")), Name: uuid(hexID("0b")), Title: "Say hello", Description: "To *everybody*", Status: "done", Created: "2025-07-01 10:00:00.000",
		Attempts: []Attempt{{Branch: "vk/hello", Targets: []string{"main"}, Agent: "CODEX", Created: "2025-07-01 11:00:00", Merged: []string{"abc123 on main"}}}}
	when := Task{Key: "0b020000-0000-0000-0000-000000000000", Name: "0b020000-0000-0000-0000-000000000000", Title: "Say when", Status: "inreview", Created: "2025-07-02 10:00:00.000", Parent: "Say hello",
		Attempts:    []Attempt{{Branch: "vk/when", Targets: []string{"main"}, Agent: "CODEX", Created: "2025-07-02 11:00:00", Pulls: []Pull{{"https://x/1", "open", "main"}}}},
		Attachments: []string{"shot.png"}}
	scripts := []string{"its scripts and the list of files to copy: [worktree] of .forge/forge.toml has such"}

	for name, c := range map[string]struct {
		form, rows string
		spoil      func(p *Project)
		left       []string
	}{
		"summer 2025": {form2025Summer, atPath + tasks("parent_task_attempt") + fmt.Sprintf(attempts, "task_attempts", "base_branch, executor, merge_commit", "'main', 'CODEX', nullif('abc123', '')"),
			func(p *Project) {
				p.Left = scripts
				p.Tasks[0].Attempts[0].Merged = []string{"abc123"}
				p.Tasks[1].Attempts[0].Merged, p.Tasks[1].Attempts[0].Pulls, p.Tasks[1].Attachments = []string{"abc123"}, nil, nil
			}, nil},
		"autumn 2025": {form2025Autumn, atPath + tasks("parent_task_attempt") + fmt.Sprintf(attempts, "task_attempts", "target_branch, executor", "'main', 'CODEX'") +
			fmt.Sprintf(merged+pulled, "task_attempt_id") + `INSERT INTO images VALUES (X'0e~', 'f', 'shot.png'); INSERT INTO task_images VALUES (X'01~', X'0b02~', X'0e~');
			INSERT INTO shared_tasks VALUES (X'01~', 'shared', 'todo');`,
			func(p *Project) { p.Left = scripts }, []string{"1 rows of the table shared_tasks, which is not read"}},
		"winter 2025": {form2025Winter, repos + tasks("parent_workspace_id") + fmt.Sprintf(attempts, "workspaces", "container_ref", "NULL") + sessions + fmt.Sprintf(targets, "attempt_repos", "attempt_id") +
			fmt.Sprintf(merged+pulled, "workspace_id") + `INSERT INTO images VALUES (X'0e~', 'f', 'shot.png'); INSERT INTO task_images VALUES (X'01~', X'0b02~', X'0e~');`, nil, nil},
		"2026": {form2026, repos + tasks("parent_workspace_id") + fmt.Sprintf(attempts, "workspaces", "container_ref", "NULL") + sessions + fmt.Sprintf(targets, "workspace_repos", "workspace_id") +
			fmt.Sprintf(merged, "workspace_id") + `INSERT INTO tracked_prs (id, workspace_id, pr_url, pr_number, target_branch_name) VALUES ('1', X'0cc2~', 'https://x/1', 1, 'main'), ('2', NULL, 'https://x/2', 2, 'main');
			INSERT INTO workspaces (id, task_id, branch, created_at) VALUES (X'0cff~', NULL, 'vk/alone', '2026-03-01');
			INSERT INTO attachments VALUES (X'0e~', 'f', 'shot.png'); INSERT INTO task_attachments VALUES (X'01~', X'0b02~', X'0e~');`, nil,
			[]string{"1 attempts (workspaces) of no task", "1 pull requests of no task"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := makeDatabase(t, c.form, blobs(c.rows))
			before := contents(t, path)
			got, err := Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			p := Project{ID: uuid(hexID("0a")), Name: "App", Repos: []string{"/src/app"}, Tasks: []Task{clone(hello), clone(when)}}
			if c.spoil != nil {
				c.spoil(&p)
			}
			if want := (Board{Path: path, Kind: Database, Projects: []Project{p}, Left: c.left}); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
			if !bytes.Equal(before, contents(t, path)) {
				t.Error("reading changed the database")
			}
			if beside, err := os.ReadDir(filepath.Dir(path)); len(beside) != 1 || err != nil {
				t.Errorf("reading left %v, %v", beside, err)
			}
		})
	}
}

func clone(t Task) Task {
	t.Attempts = append([]Attempt{}, t.Attempts...)
	return t
}

// blobs writes ids out to their 16 bytes: X'0a~' is one that begins with 0a.
func blobs(rows string) string {
	return regexp.MustCompile(`X'([0-9a-f]+)~'`).ReplaceAllStringFunc(rows, func(id string) string {
		id = id[2 : len(id)-2]
		return "X'" + id + strings.Repeat("0", 32-len(id)) + "'"
	})
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What the program has written but not yet brought into its file counts, and what it
// has not committed does not.
func TestDatabaseInUse(t *testing.T) {
	t.Parallel()
	path := makeDatabase(t, form2026)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	exec := func(s string) {
		if _, err := db.Exec(blobs(s)); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO projects VALUES (X'0a~', 'App', NULL, '')`)
	exec(`INSERT INTO tasks VALUES (X'0b~', X'0a~', 'written', NULL, 'todo', NULL, '1')`)
	exec(`BEGIN IMMEDIATE`)
	exec(`INSERT INTO tasks VALUES (X'0c~', X'0a~', 'not committed', NULL, 'todo', NULL, '2')`)

	b, err := Read(t.Context(), path)
	if err != nil || len(b.Projects) != 1 || len(b.Projects[0].Tasks) != 1 || b.Projects[0].Tasks[0].Title != "written" {
		t.Errorf("read %+v, %v", b, err)
	}
	exec(`COMMIT`)
	if b, err = Read(t.Context(), path); err != nil || len(b.Projects[0].Tasks) != 2 {
		t.Errorf("read %+v, %v", b, err)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	write := func(data string) string {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := string(contents(t, makeDatabase(t, form2026)))
	for name, c := range map[string]struct{ path, want string }{
		"none":            {filepath.Join(t.TempDir(), "none"), "there is no file"},
		"a folder":        {t.TempDir(), "is not a file"},
		"empty":           {write(""), "neither an SQLite database nor a .zip"},
		"short":           {write("PK"), "neither an SQLite database nor a .zip"},
		"text":            {write("title,status\nfoo,bar\nand so on\n"), "neither an SQLite database nor a .zip"},
		"half a database": {write(whole[:len(whole)/2]), "it may be damaged"},
		"zeroes":          {write(whole[:100] + strings.Repeat("\x00", len(whole)-100)), "it may be damaged"},
		"no zip":          {write("PK\x03\x04 and nothing more"), "zip: not a valid zip file"},
		"another program": {makeDatabase(t, "CREATE TABLE tasks (id, title, status)"), "is not a database of Vibe Kanban"},
		"sqlx's, another": {makeDatabase(t, "CREATE TABLE _sqlx_migrations (version)", "CREATE TABLE users (id)"), "is not a database of Vibe Kanban"},
		"an unknown form": {makeDatabase(t, "CREATE TABLE _sqlx_migrations (version)", "INSERT INTO _sqlx_migrations VALUES (20300101000000)", "CREATE TABLE projects (id, name)"),
			"newest migration 20300101000000): there is no tasks.id, tasks.project_id, tasks.title, tasks.description, tasks.status, tasks.created_at, task_attempts.id, task_attempts.created_at"},
		// A view would run for ever.
		"a view": {makeDatabase(t, strings.Replace(form2026, "CREATE TABLE tasks ", "CREATE TABLE t ", 1),
			`CREATE VIEW tasks AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i AS id, i AS project_id, '' AS title, '' AS description, '' AS status, '' AS created_at FROM n`), "there is no tasks.id"},
	} {
		_, err := Read(t.Context(), c.path)
		var mend *refusal.Error
		if !errors.As(err, &mend) || mend.Fix == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a refusal with %q", name, err, c.want)
		}
	}
}

func TestDatabaseBounds(t *testing.T) {
	t.Parallel()
	path := makeDatabase(t, form2025Summer, blobs(`INSERT INTO projects (id, name, created_at) VALUES (X'0a~', 'App', '')`),
		fmt.Sprintf(`INSERT INTO tasks (id, project_id, title, created_at) WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT %d) SELECT randomblob(16), x'0a', 't', i FROM n`, maxTasks+1))
	if _, err := Read(t.Context(), path); err == nil || !strings.Contains(err.Error(), "at most 20000 tasks") {
		t.Errorf("too many tasks: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
