package review

import (
	"bytes"
	"path"
	"strings"

	"forge/internal/text"
)

// LeftOut is a file of a change that reviewers are not shown, and why.
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Why a file is left out.
const (
	LeftLock      = "a lock file"
	LeftVendored  = "vendored"
	LeftGenerated = "generated"
	LeftIgnored   = "reviews.ignore"
)

// Filter says which files of a change reviewers are not shown. All that it knows
// is of the base: a change must not choose what of it is reviewed. A function that
// is nil says no of each file.
type Filter struct {
	Never    func(path string) bool // shown whatever else is said of it
	Evidence func(path string) bool // likewise, but for what tools lock and vendor
	Ignored  func(path string) bool // by the project's own word
	Vendored func(path string) bool
	// Marked says that the base's attributes call a file generated.
	Marked func(path string) bool
	// Was and Now are the beginnings of a file before and after the change; nil =
	// it is not there.
	Was, Now func(path string) []byte
}

// Shown divides a change into what reviewers are shown and what is left out. A
// renamed file is left out where both its names are.
func (f Filter) Shown(c Change) (shown Change, out []LeftOut) {
	for _, file := range c.Files {
		why := f.why(file.Path, file.OldPath)
		if why != "" && file.OldPath != "" && f.why(file.OldPath, file.OldPath) == "" {
			why = ""
		}
		if why == "" {
			shown.Files = append(shown.Files, file)
		} else {
			out = append(out, LeftOut{Name(file.Path), why})
		}
	}
	return shown, out
}

// why a path is left out, "" = it is shown; was is the name that it had.
func (f Filter) why(name, was string) string {
	says := func(who func(string) bool) bool { return who != nil && who(name) }
	switch {
	case says(f.Never):
		return ""
	case lockFiles()[path.Base(name)]:
		return LeftLock
	case says(f.Vendored), InPackages(name):
		return LeftVendored
	case says(f.Evidence):
		return ""
	case says(f.Marked), f.generated(name, was):
		return LeftGenerated
	case says(f.Ignored):
		return LeftIgnored
	}
	return ""
}

// generated says that a file calls itself so, before the change as after it: one
// that only says so now could say it to stay unseen.
func (f Filter) generated(name, was string) bool {
	if f.Was == nil || f.Now == nil {
		return false
	}
	if was == "" {
		was = name
	}
	return saysGenerated(f.Was(was)) && saysGenerated(f.Now(name))
}

// HeadBytes is how much of a file is looked at for whether it says that it was
// generated.
const HeadBytes = 2048

var generatedLine = text.Lazy(`^(//|#|--|;|%|/\*|\*|<!--|"""|')?\s*Code generated .*DO NOT EDIT\b`)

func saysGenerated(content []byte) bool {
	for line := range bytes.Lines(content[:min(len(content), HeadBytes)]) {
		if generatedLine().Match(bytes.TrimSpace(line)) {
			return true
		}
	}
	return false
}

// InPackages says that a path lies in a folder that package managers fill, and
// nobody else writes into.
func InPackages(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		switch part {
		case "node_modules", "bower_components", "jspm_packages", "site-packages":
			return true
		}
	}
	return false
}

// lockFiles are written by package managers alone.
func lockFiles() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(`go.sum go.work.sum package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock
		Cargo.lock poetry.lock uv.lock pdm.lock Pipfile.lock Gemfile.lock composer.lock mix.lock rebar.lock flake.lock Podfile.lock Cartfile.resolved
		Package.resolved pubspec.lock packages.lock.json gradle.lockfile .terraform.lock.hcl Chart.lock conan.lock stack.yaml.lock`) {
		out[name] = true
	}
	return out
}

// Without is c without what old has as well, hunk by hunk: what came to the change
// since somebody saw it as it was in old. A hunk counts as seen by its lines,
// wherever they stand now; each of old's once. What cannot be compared (a binary
// file, one that was cut) is new.
func (c Change) Without(old Change) Change {
	seen := map[string]*File{}
	for i := range old.Files {
		seen[old.Files[i].Path] = &old.Files[i]
	}
	var out Change
	for _, f := range c.Files {
		was := seen[f.Path]
		if was == nil || f.Binary || f.Cut || was.Cut || f.Status != was.Status || f.OldPath != was.OldPath || f.NewMode != was.NewMode || f.OldMode != was.OldMode {
			out.Files = append(out.Files, f)
			continue
		}
		left := map[string]int{}
		for _, h := range was.Hunks {
			left[string(h.Body)]++
		}
		var fresh []Hunk
		for _, h := range f.Hunks {
			if left[string(h.Body)]--; left[string(h.Body)] < 0 {
				fresh = append(fresh, h)
			}
		}
		if len(fresh) > 0 {
			f.Hunks = fresh
			out.Files = append(out.Files, f)
		} else if len(f.Hunks) < len(was.Hunks) {
			// Only something that it had is gone again: what is left may need it.
			out.Files = append(out.Files, f)
		}
	}
	return out
}
