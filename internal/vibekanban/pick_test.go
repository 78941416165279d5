package vibekanban

import (
	"strings"
	"testing"
)

func TestPick(t *testing.T) {
	b := Board{Path: "db", Projects: []Project{
		{ID: "1", Name: "App", Repos: []string{"/src/lib", "/src/app/"}}, {ID: "2", Name: "app"}, {ID: "3", Name: "Twin"}, {ID: "4", Name: "Twin"}, {ID: "5", Name: "Website"},
	}}
	one := Board{Path: "zip", Projects: []Project{{Name: "Only"}}}
	for name, c := range map[string]struct {
		of    Board
		named []string
		root  string
		want  string // names, or the beginning of what is refused
	}{
		"of this folder":      {b, nil, "/src/app", "App"},
		"of no folder":        {b, nil, "/src/other", `no project of db is that of this folder; there are "App" (1), "app" (2), "Twin" (3)`},
		"the only one":        {one, nil, "/src/app", "Only"},
		"the only one's else": {Board{Path: "db", Projects: b.Projects[:1]}, nil, "/src/other", "no project of db is that of this folder"},
		"by name":             {b, []string{"App"}, "/src/other", "App"},
		"exactly first":       {b, []string{"app"}, "", "app"},
		"in any case":         {b, []string{"WEBSITE"}, "", "Website"},
		"by id":               {b, []string{"4"}, "", "Twin"},
		"several, one twice":  {b, []string{"App", "5", "app", "Website"}, "", "App Website app"},
		"in two cases":        {b, []string{"APP"}, "", `db has 2 projects that are called "APP" (name one by its id: "App" (1), "app" (2))`},
		"ambiguous":           {b, []string{"Twin"}, "", `db has 2 projects that are called "Twin"`},
		"unknown":             {b, []string{"Webside"}, "", `db has no project "Webside"; did you mean "Website"? (there are "App" (1)`},
		"none":                {Board{Path: "db"}, nil, "", "db has no project"},
	} {
		picked, err := Pick(c.of, c.named, c.root)
		got := strings.Join(names(picked), " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
