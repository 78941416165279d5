package vibekanban

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const issuesHead = "Issue ID,Title,Description,Status,Priority,Project,Assignee(s),Labels,Creator,Created,Updated,Start Date,Due Date,Completed,Parent Issue\n"

// exported is the .zip of tables, named by their files.
func zipped(t testing.TB, tables map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, rows := range tables {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(rows))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestExport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "vibe-kanban-export-2026-04-20.zip")
	data := zipped(t, map[string]string{
		"issues.csv": "\ufeff" + issuesHead +
			"VIB-2,Second,\"two\nlines\",In Review,High,App,\"Ann, Bob\",\"bug, ui\",Ann,2026-02-02T00:00:00+00:00,,,2026-03-01T00:00:00+00:00,,VIB-1\n" +
			"VIB-1,First,,Done,,App,,,,2026-02-01T00:00:00.5+00:00,,,,,\n" +
			"VIB-1,Of another,,Todo,,Web,,,,2026-02-03T01:00:00+01:00,,,,,\n" +
			"WEB-7,Seventh,,Todo,,Web,,,,soon,,,,,\n",
		"projects.csv":                "Name,Created,Updated\nEmpty,,\nApp,,\n",
		"tags.csv":                    "Project,Tag Name,Color\n",
		"relationships.csv":           "Issue ID,Related Issue ID,Type,Created\nWEB-7,VIB-2,Blocking,\nVIB-1,VIB-2,Blocking,\nVIB-2,WEB-7,Related,\n",
		"pull_requests.csv":           "Issue ID(s),PR URL,PR Number,Status,Merged At,Target Branch\n\"VIB-2, WEB-7\",https://x/1,1,Open,,main\n,https://x/2,2,Open,,main\n",
		"comments.csv":                "Issue ID,Author,Message,Created,Updated\nVIB-2,Bob,Well,2026-02-02T01:00:00+00:00,\nVIB-1,Bob,Which?,,\n",
		"attachments.csv":             "Issue ID,Filename,Content Type,Size (bytes),File Path in ZIP\nWEB-7,shot.png,image/png,3,attachments/WEB-7/shot.png\n",
		"attachments/WEB-7/shot.png":  "png",
		"../../attachments/elsewhere": "evil",
	})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	pull := []Pull{{"https://x/1", "Open", "main"}}
	want := Board{
		Path: path, Kind: Export,
		Projects: []Project{
			{Name: "Empty"},
			{Name: "App", Tasks: []Task{
				{Key: "export/VIB-1/1769904000500000000", Name: "VIB-1", Title: "First", Status: "Done", Created: "2026-02-01T00:00:00.5+00:00"},
				{Key: "export/VIB-2/1769990400000000000", Name: "VIB-2", Title: "Second", Description: "two\nlines", Status: "In Review", Priority: "High", Labels: []string{"bug", "ui"},
					Blockers: []string{"export/WEB-7/soon"}, BlockedBy: []string{"VIB-1"}, Parent: "VIB-1", Pulls: pull, Comments: []Comment{{"Bob", "2026-02-02T01:00:00+00:00", "Well"}},
					Creator: "Ann", Assignees: "Ann, Bob", Created: "2026-02-02T00:00:00+00:00", Due: "2026-03-01T00:00:00+00:00"},
			}},
			{Name: "Web", Tasks: []Task{
				{Key: "export/VIB-1/1770076800000000000", Name: "VIB-1", Title: "Of another", Status: "Todo", Created: "2026-02-03T01:00:00+01:00"},
				{Key: "export/WEB-7/soon", Name: "WEB-7", Title: "Seventh", Status: "Todo", Created: "soon", Pulls: pull, Attachments: []string{"shot.png"}},
			}},
		},
		Left: []string{
			"attempts and their branches: the export has none; the database of the machine that they were made on does",
			"4 relations, pull requests, comments or attachments that are of no issue, of an issue whose name several projects have, or of a kind that a board has not",
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// All that is wrong with an export is said at once, with file and line.
func TestBadExport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tables map[string]string
		want   []string
	}{
		"no issues":     {map[string]string{"projects.csv": "Name\n"}, []string{"issues.csv: it is not in the .zip"}},
		"empty":         {map[string]string{"issues.csv": ""}, []string{"issues.csv: EOF"}},
		"other columns": {map[string]string{"issues.csv": "Issue ID,Title,Description\n"}, []string{`issues.csv: line 1: there is no column "Status"`, `there is no column "Project"`, `there is no column "Created"`}},
		"bad quotes":    {map[string]string{"issues.csv": issuesHead + "\"VIB-1\n", "comments.csv": "Issue ID,Message\nx\n"}, []string{"issues.csv: parse error on line 2", "comments.csv: record on line 2: wrong number of fields"}},
		"twice":         {map[string]string{"issues.csv": issuesHead + strings.Repeat("VIB-1,a,,Todo,,App,,,,2026-02-01T00:00:00Z,,,,,\n", 2)}, []string{`issues.csv: "VIB-1" made at "2026-02-01T00:00:00Z" stands in it twice`}},
	} {
		data := zipped(t, c.tables)
		_, err := parseExport(bytes.NewReader(data), int64(len(data)))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

// Whatever tables an export has, it is refused or becomes cards that the board takes,
// one for each of its issues.
func FuzzExport(f *testing.F) {
	f.Add(issuesHead+"VIB-1,a,b,Todo,,App,,,,2026-02-01T00:00:00Z,,,,,\n", "Issue ID,Related Issue ID,Type\nVIB-1,VIB-1,Blocking\n", "Issue ID,Message\nVIB-1,hi\n")
	f.Add(issuesHead, "", "\"")
	f.Fuzz(func(t *testing.T, issues, relations, comments string) {
		data := zipped(t, map[string]string{"issues.csv": issues, "relationships.csv": relations, "comments.csv": comments})
		b, err := parseExport(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, p := range b.Projects {
			cards := Become(p.Name, p.Tasks, onMain())
			if err := Check(cards); err != nil || len(cards) != len(p.Tasks) {
				t.Fatalf("%d cards of %d tasks: %v", len(cards), len(p.Tasks), err)
			}
		}
	})
}
