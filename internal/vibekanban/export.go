package vibekanban

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"forge/internal/refusal"
	"forge/internal/text"
)

// The cloud of Vibe Kanban exports a .zip of tables: issues.csv, projects.csv and
// users.csv always; relationships, pull_requests, comments and attachments where there
// are any. What belongs together is told by an issue's short name, such as VIB-12,
// which is unique within a project. Attempts and their branches are not in it.

// maxExport is how large the tables of an export may be together.
const maxExport = maxText

func readExport(path string) (Board, error) {
	f, err := os.Open(path)
	if err != nil {
		return Board{}, refusal.New("let this user read it", "%v", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Board{}, refusal.New(whatToName, "%v", err)
	}
	b, err := parseExport(f, info.Size())
	if err != nil {
		return Board{}, refusal.New(whatToName, "read %s: %s", path, text.Clip(strings.ReplaceAll(err.Error(), "\n", "; "), 800))
	}
	return b, nil
}

// parseExport reads an export of so many bytes. The error names all that is wrong
// with its tables.
func parseExport(r io.ReaderAt, size int64) (Board, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return Board{}, err
	}
	e := export{left: maxExport, byKey: map[string]*exported{}, byName: map[string][]string{}}
	for _, t := range []struct {
		name    string
		must    bool
		columns []string
		row     func(func(string) string)
	}{
		{"issues.csv", true, []string{"Issue ID", "Title", "Description", "Status", "Project", "Created"}, e.issue},
		{"projects.csv", false, []string{"Name"}, e.project},
		{"relationships.csv", false, []string{"Issue ID", "Related Issue ID", "Type"}, e.relation},
		{"pull_requests.csv", false, []string{"Issue ID(s)", "PR URL"}, e.pull},
		{"comments.csv", false, []string{"Issue ID", "Message"}, e.comment},
		{"attachments.csv", false, []string{"Issue ID", "Filename"}, e.attachment},
	} {
		e.table(z, t.name, t.must, t.columns, t.row)
	}
	if err := errors.Join(e.wrong...); err != nil {
		return Board{}, err
	}
	return e.board(), nil
}

// export is an export that is read.
type export struct {
	left     int64 // bytes that may still be read
	wrong    []error
	order    []string // of issues, by key
	byKey    map[string]*exported
	byName   map[string][]string // keys of the issues of that name: several where projects share it
	projects []string
	unclear  int // rows that name no issue, or several
}

type exported struct {
	Task
	project string
}

// table reads one table, row by row. of gives a row's cell in a column; "" where
// there is no such.
func (e *export) table(z *zip.Reader, name string, must bool, columns []string, row func(of func(string) string)) {
	bad := func(format string, args ...any) { e.wrong = append(e.wrong, fmt.Errorf(name+": "+format, args...)) }
	at := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == name })
	if at < 0 {
		if must {
			bad("it is not in the .zip")
		}
		return
	}
	f, err := z.File[at].Open()
	if err != nil {
		bad("%v", err)
		return
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, e.left+1))
	if e.left -= int64(len(data)); e.left < 0 {
		err = errLarge
	}
	if err != nil {
		bad("%v", err)
		return
	}

	in := csv.NewReader(bytes.NewReader([]byte(text.WithoutMark(string(data)))))
	in.ReuseRecord = true
	places := map[string]int{}
	for n := 0; ; n++ {
		cells, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return
		case err != nil:
			bad("%v", err)
			return
		case n > maxRows:
			bad("%v", errLarge)
			return
		case n > 0:
			row(func(column string) string {
				if place, ok := places[column]; ok {
					return strings.Clone(cells[place])
				}
				return ""
			})
			continue
		}
		lacks := false
		for i, c := range cells {
			places[strings.Clone(c)] = i
		}
		for _, c := range columns {
			if _, ok := places[c]; !ok {
				bad("line 1: there is no column %q", c)
				lacks = true
			}
		}
		if lacks {
			return
		}
	}
}

func (e *export) issue(of func(string) string) {
	if len(e.order) == maxTasks {
		if !slices.Contains(e.wrong, errLarge) {
			e.wrong = append(e.wrong, errLarge)
		}
		return
	}
	t := exported{project: of("Project"), Task: Task{
		Name: of("Issue ID"), Title: of("Title"), Description: of("Description"), Status: of("Status"), Priority: of("Priority"),
		Creator: of("Creator"), Assignees: of("Assignee(s)"), Created: of("Created"), Start: of("Start Date"), Due: of("Due Date"), Parent: of("Parent Issue"),
	}}
	// An issue's project may be renamed, and several projects may have an issue of one
	// name. Which moment it was made at, to the microsecond, stays.
	made := t.Created
	if at, err := time.Parse(time.RFC3339Nano, made); err == nil {
		made = strconv.FormatInt(at.UnixNano(), 10)
	}
	t.Key = "export/" + t.Name + "/" + made
	if t.Labels = split(of("Labels")); e.byKey[t.Key] != nil {
		e.wrong = append(e.wrong, fmt.Errorf("issues.csv: %q made at %q stands in it twice", text.OneLine(t.Name, 40), text.OneLine(t.Created, 40)))
		return
	}
	e.order, e.byKey[t.Key] = append(e.order, t.Key), &t
	e.byName[t.Name] = append(e.byName[t.Name], t.Key)
}

// split parts what the export joins by commas.
func split(list string) (out []string) {
	for word := range strings.SplitSeq(list, ", ") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

func (e *export) project(of func(string) string) {
	if name := of("Name"); !slices.Contains(e.projects, name) {
		e.projects = append(e.projects, name)
	}
}

// called is the issue of a name; nil, and counted, where there is none or several.
func (e *export) called(name string) *exported {
	if keys := e.byName[name]; len(keys) == 1 {
		return e.byKey[keys[0]]
	}
	e.unclear++
	return nil
}

// relation takes what blocks an issue. Other relations are named by nothing here.
func (e *export) relation(of func(string) string) {
	if !strings.EqualFold(of("Type"), "Blocking") {
		e.unclear++
		return
	}
	blocked := e.called(of("Related Issue ID"))
	if blocked == nil {
		return
	}
	if by := e.called(of("Issue ID")); by != nil {
		blocked.Blockers = append(blocked.Blockers, by.Key)
	} else {
		blocked.BlockedBy = append(blocked.BlockedBy, of("Issue ID"))
	}
}

func (e *export) pull(of func(string) string) {
	names := split(of("Issue ID(s)"))
	if len(names) == 0 {
		e.unclear++
	}
	for _, name := range names {
		if t := e.called(name); t != nil {
			t.Pulls = append(t.Pulls, Pull{URL: of("PR URL"), Status: of("Status"), Target: of("Target Branch")})
		}
	}
}

func (e *export) comment(of func(string) string) {
	if t := e.called(of("Issue ID")); t != nil {
		t.Comments = append(t.Comments, Comment{By: of("Author"), At: of("Created"), Words: of("Message")})
	}
}

func (e *export) attachment(of func(string) string) {
	if t := e.called(of("Issue ID")); t != nil {
		t.Attachments = append(t.Attachments, of("Filename"))
	}
}

// board puts the issues into their projects, in the order in which they were made.
func (e *export) board() Board {
	b := Board{Left: []string{"attempts and their branches: the export has none; the database of the machine that they were made on does"}}
	if e.unclear > 0 {
		b.Left = append(b.Left, fmt.Sprintf("%d relations, pull requests, comments or attachments that are of no issue, of an issue whose name several projects have, or of a kind that a board has not", e.unclear))
	}
	places := map[string]int{}
	for _, name := range e.projects {
		places[name] = len(b.Projects)
		b.Projects = append(b.Projects, Project{Name: name})
	}
	for _, key := range e.order {
		t := e.byKey[key]
		at, ok := places[t.project]
		if !ok {
			at, places[t.project] = len(b.Projects), len(b.Projects)
			b.Projects = append(b.Projects, Project{Name: t.project})
		}
		b.Projects[at].Tasks = append(b.Projects[at].Tasks, t.Task)
	}
	for i := range b.Projects {
		slices.SortStableFunc(b.Projects[i].Tasks, func(x, y Task) int { return strings.Compare(x.Created, y.Created) })
	}
	return b
}
