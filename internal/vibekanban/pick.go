package vibekanban

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/refusal"
	"forge/internal/text"
)

// Pick is which projects are meant: those that are named, by id or name, or the one
// whose repository is at one of the roots. Where nobody knows, nothing is picked.
func Pick(b Board, named []string, roots ...string) ([]Project, error) {
	if len(b.Projects) == 0 {
		return nil, refusal.New("there is nothing to take along", "%s has no project", b.Path)
	}
	if len(named) == 0 {
		at := slices.IndexFunc(b.Projects, func(p Project) bool { return ofRoots(p, roots) })
		switch {
		case at >= 0:
			return b.Projects[at : at+1], nil
		case len(b.Projects) == 1 && len(b.Projects[0].Repos) == 0:
			return b.Projects, nil // nothing speaks against it
		}
		return nil, refusal.New(`name it: --project "NAME"`, "no project of %s is that of this folder; there are %s", b.Path, list(b.Projects))
	}

	var picked []Project
	for _, name := range named {
		found := called(b.Projects, name)
		switch len(found) {
		case 0:
			hint := ""
			if near := gates.Nearest(name, names(b.Projects)); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", text.OneLine(near, 80))
			}
			return nil, refusal.New("there are "+list(b.Projects), "%s has no project %q%s", b.Path, text.OneLine(name, 80), hint)
		case 1:
			if !slices.ContainsFunc(picked, func(p Project) bool { return p.ID == found[0].ID && p.Name == found[0].Name }) {
				picked = append(picked, found[0])
			}
		default:
			return nil, refusal.New("name one by its id: "+list(found), "%s has %d projects that are called %q", b.Path, len(found), text.OneLine(name, 80))
		}
	}
	return picked, nil
}

// called are the projects of that id, else of that name, else of that name in any case.
func called(projects []Project, name string) (found []Project) {
	for _, same := range []func(p Project) bool{
		func(p Project) bool { return p.ID != "" && strings.EqualFold(p.ID, name) },
		func(p Project) bool { return p.Name == name },
		func(p Project) bool { return strings.EqualFold(p.Name, name) },
	} {
		for _, p := range projects {
			if same(p) {
				found = append(found, p)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

func ofRoots(p Project, roots []string) bool {
	return slices.ContainsFunc(p.Repos, func(folder string) bool { return slices.Contains(roots, filepath.Clean(folder)) })
}

func names(projects []Project) (out []string) {
	for _, p := range projects {
		out = append(out, p.Name)
	}
	return out
}

// list names projects for people, the first of them.
func list(projects []Project) string {
	var out []string
	for n, p := range projects {
		if n == 20 {
			out = append(out, fmt.Sprintf("%d more", len(projects)-n))
			break
		}
		word := fmt.Sprintf("%q", text.OneLine(p.Name, 80))
		if p.ID != "" {
			word += " (" + text.OneLine(p.ID, 40) + ")"
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}
