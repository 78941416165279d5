package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/factory/web/api"
	"forge/internal/pace"
	"forge/internal/work"
)

// served is forge factory over a project, as a program reaches it.
type served struct {
	*world
	run        *started
	url, token string
	project    string // address of the project below the API
}

var servedAt = regexp.MustCompile(`the pages are at (http://[0-9.:]+)`)

// serve begins forge factory with a new admin who has a token.
func (w *world) serve(admin string) *served {
	w.t.Helper()
	s := w.serveWhatIsThere(admin)
	var list []struct{ ID string }
	s.ask("GET", "/projects", "", 200, &list)
	if len(list) != 1 {
		w.t.Fatalf("projects: %+v", list)
	}
	s.project = "/projects/" + list[0].ID
	return s
}

// serveWhatIsThere is serve of however many projects there are.
func (w *world) serveWhatIsThere(admin string) *served {
	w.t.Helper()
	token := regexp.MustCompile(`forge_[A-Za-z0-9_-]+`).FindString(w.forge("factory", "user", "add", admin, "--role", "admin").want(exitDone).stdout)
	s := &served{world: w, token: token, run: w.begin("factory", "--listen", "127.0.0.1:0")}
	w.eventually("the server says where it is", func() bool {
		select {
		case <-s.run.over:
			w.t.Fatalf("forge factory ended: %s", s.run.stderr)
		default:
		}
		m := servedAt.FindStringSubmatch(s.run.stderr.String())
		if m != nil {
			s.url = m[1]
		}
		return m != nil
	})
	return s
}

// ask makes a request below the API and reads the answer into into, if it is
// not nil.
func (s *served) ask(method, path, body string, status int, into any) {
	s.t.Helper()
	code, text := s.send(method, path, body)
	if code != status {
		s.t.Fatalf("%s %s: %d, want %d: %s\nserver: %s", method, path, code, status, text, s.run.stderr)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
}

func (s *served) send(method, path, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+api.Prefix+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v\nserver: %s", method, path, err, s.run.stderr)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// approve answers every question that is open now; it says how many were.
func (s *served) approve() int {
	s.t.Helper()
	var page struct {
		Checkpoints []work.Checkpoint
	}
	s.ask("GET", s.project+"/checkpoints?status=pending", "", 200, &page)
	for _, cp := range page.Checkpoints {
		s.ask("POST", s.project+"/checkpoints/"+cp.ID+"/approve", fmt.Sprintf(`{"revision":%d}`, cp.Revision), 200, nil)
		if code, text := s.send("POST", s.project+"/checkpoints/"+cp.ID+"/reject", fmt.Sprintf(`{"revision":%d}`, cp.Revision)); code != 409 || !strings.Contains(text, "already_resolved") {
			s.t.Errorf("a second answer: %d %s", code, text)
		}
	}
	return len(page.Checkpoints)
}

// follow reads the stream of events after an id until enough says so; it
// returns the lines of the board's history in it and the last id.
func (s *served) follow(after string, enough func(lines []work.IssueEntry) bool) (lines []work.IssueEntry, id string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	query := "?project=" + strings.TrimPrefix(s.project, "/projects/")
	if after == "" {
		query += "&from=start"
	}
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+api.Prefix+"/events"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil || a.StatusCode != 200 {
		s.t.Fatalf("events: %v, %v", a, err)
	}
	defer a.Body.Close()
	kind := ""
	for in := bufio.NewScanner(a.Body); in.Scan(); {
		field, value, _ := strings.Cut(in.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			if kind != "issue" {
				continue
			}
			var line struct{ Entry work.IssueEntry }
			if err := json.Unmarshal([]byte(value), &line); err != nil {
				s.t.Fatalf("an event: %v in %s", err, value)
			}
			lines = append(lines, line.Entry)
		case "": // the end of an event: its id counts
			kind = ""
			if id != "" && enough(lines) {
				return lines, id
			}
		}
	}
	s.t.Fatalf("the stream ended before enough was heard: %+v", lines)
	return nil, ""
}

// reached says that a line moves an issue into a column.
func reached(lines []work.IssueEntry, column work.Column) bool {
	return slices.ContainsFunc(lines, func(l work.IssueEntry) bool {
		return slices.ContainsFunc(l.Fields, func(c work.FieldChange) bool { return c.Field == "column" && c.To == string(column) })
	})
}

const issueScript = `
[[step]]
do = [{write = "out.txt", content = "made\n"}, {print = "<promise>ISSUE 1 DONE</promise>"}]
`

// An issue from its first word to done, all of it by the API of a running
// server; the events of it once and whole, also for who was cut off.
func TestTheAPITakesAnIssueToDone(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "a factory looks for what is new twice a second, before each step")
	w := newWorld(t, issueScript, "test -f out.txt || test -f README.md")
	w.configure("[factory]\ntriage = \"off\"\n", "true")
	s := w.serve("bot")
	var issue work.Issue
	s.ask("POST", s.project+"/issues", `{"title":"Write it","criteria":["the file is there"],"column":"ready","level":"guided"}`, 200, &issue)
	heard, id := s.follow("", func(lines []work.IssueEntry) bool { return reached(lines, work.ColumnInProgress) })

	at := fmt.Sprintf("%s/issues/%d", s.project, issue.ID)
	answers := 0
	s.eventually("the issue is done", func() bool {
		s.ask("GET", at, "", 200, &issue)
		if issue.State == work.IssueFailed {
			t.Fatalf("the issue failed: %s", issue.Reason)
		}
		if issue.Column != work.ColumnDone {
			answers += s.approve()
		}
		return issue.Column == work.ColumnDone
	})
	rest, _ := s.follow(id, func(lines []work.IssueEntry) bool { return reached(lines, work.ColumnDone) })
	all, _ := s.follow("", func(lines []work.IssueEntry) bool { return reached(lines, work.ColumnDone) })
	if answers == 0 || !reached(all, work.ColumnInReview) {
		t.Errorf("%d questions were answered, in review: %v", answers, reached(all, work.ColumnInReview))
	}
	var got, want []int64
	for _, l := range append(heard, rest...) {
		if !slices.Contains(got, l.Seq) {
			got = append(got, l.Seq)
		}
	}
	for _, l := range all {
		want = append(want, l.Seq)
	}
	if len(want) < 4 || !slices.Equal(got[:min(len(got), len(want))], want) {
		t.Errorf("heard lines %v, want %v", got, want)
	}
	if len(rest) > 0 && len(heard) > 0 && rest[len(rest)-1].Seq <= heard[len(heard)-1].Seq {
		t.Errorf("after line %d came %d", heard[len(heard)-1].Seq, rest[len(rest)-1].Seq)
	}
	var st api.Status
	s.ask("GET", s.project+"/runs/"+issue.Run, "", 200, &st)
	if st.State != "finished" || st.Outcome != work.RunCompleted || len(st.Phases) == 0 || len(st.Checkpoints) == 0 {
		t.Errorf("its run: %+v", st)
	}
	var f struct {
		Done int `json:"issues_done"`
		Runs struct{ Good, All int }
	}
	s.ask("GET", s.project+"/figures", "", 200, &f)
	if f.Done != 1 || f.Runs.Good != 1 || f.Runs.All != 1 {
		t.Errorf("figures: %+v", f)
	}
}

// A job is started, its plan read and approved, and its end too.
func TestTheAPITakesAJobToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, jobScript, "true")
	s := w.serve("bot")
	var job api.ShownJob
	s.ask("POST", s.project+"/jobs", `{"description":"Write the file.","documents":{"notes.txt":"cmVhZCBtZQ=="}}`, 200, &job)
	at := s.project + "/jobs/" + job.Run
	planned := false
	s.eventually("the job is over", func() bool {
		s.ask("GET", at, "", 200, &job)
		if s.approve() > 0 && !planned {
			s.ask("GET", at, "", 200, &job)
			p := job.Papers
			planned = p.Plan == "# The plan\n" && len(p.Todos) == 5 && slices.Contains(p.Documents, "notes.txt")
			if !planned {
				t.Errorf("the job as it asks: %+v", job)
			}
		}
		return job.State == "finished"
	})
	if !planned || job.Outcome != work.RunCompleted || job.Job == nil || job.Job.Description != "Write the file." || !slices.Contains(job.Papers.Archive, "retrospective.md") {
		t.Errorf("planned %v; %+v", planned, job)
	}
}
