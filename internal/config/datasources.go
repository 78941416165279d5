package config

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/text"
)

// DataSource is one [datasources.<name>].
type DataSource struct {
	Kind    *string  `toml:"kind" doc:"folder, sqlite (a database file), command (a program that prints) or http." sample:"\"folder\"" rule:"folder|sqlite|command|http"`
	Path    *string  `toml:"path" doc:"Of a folder or database, shown to the agent read-only: in a project's file a path of the checkout, in the user's an absolute one or one from ~/." sample:"\"docs/handbook\"" rule:"filled"`
	Command []string `toml:"command" doc:"Program and arguments, run by the agent inside its sandbox." sample:"[\"./tools/tickets\", \"--open\"]" rule:"filled some"`
	URL     *string  `toml:"url" doc:"Address, without secrets in it." sample:"\"https://example.com/api\"" rule:"url"`
	About   *string  `toml:"about" doc:"What it holds, for the agent." sample:"\"The team's handbook.\"" rule:"filled"`
}

// Job is [job].
type Job struct {
	MaxPhases *int    `toml:"max_phases" default:"50" doc:"Phases after which a job that is not complete stops; 0 = no limit." rule:"min=0 max=100000"`
	Expert    *string `toml:"expert" doc:"The expert of jobs that name none: researcher, writer, coder, validator, debugger, or a folder of .forge/experts/." sample:"\"coder\"" rule:"filled"`
}

// The kinds of data sources.
const (
	SourceFolder  = "folder"
	SourceSQLite  = "sqlite"
	SourceCommand = "command"
	SourceHTTP    = "http"
)

// sourceName is what a data source may be called: it names a file.
var sourceName = text.Lazy(`^[a-z0-9][a-z0-9_-]{0,59}$`)

// sourceKeys are the keys that each kind has to have, and no other kind may.
var sourceKeys = map[string]string{SourceFolder: "path", SourceSQLite: "path", SourceCommand: "command", SourceHTTP: "url"}

// checkDataSources looks at each entry of each file together with what lies
// below it.
func (c *Config) checkDataSources(col *collector) {
	for _, l := range c.layers {
		for _, name := range sortedKeys(l.said.DataSources) {
			c.checkDataSource(col, l, name)
		}
	}
}

func (c *Config) checkDataSource(col *collector, l *layer, name string) {
	bad := func(key, what, fix string) {
		path := []string{"datasources", name}
		if key != "" {
			path = append(path, key)
		}
		col.add(l.file, l.index.find(path), dotted(path)+" "+what, fix)
	}
	if !sourceName().MatchString(name) {
		bad("", "is no name for a data source", "use small letters, digits, _ and -, at most 60")
		return
	}
	merged, mine := c.File.DataSources[name], l.said.DataSources[name]
	kind, written := said(merged.Kind), func(key string) bool { return l.index.has("datasources", name, key) }
	want, known := sourceKeys[kind]
	switch {
	case kind == "" && written("kind"): // of a wrong type, said already
	case kind == "":
		bad("", "has no kind", `write kind = "folder", or one of `+strings.Join(slices.Sorted(maps.Keys(sourceKeys)), ", "))
	case known:
		has := map[string]bool{"path": merged.Path != nil, "command": len(merged.Command) > 0, "url": merged.URL != nil}
		if !has[want] && !written(want) {
			bad("", fmt.Sprintf("is of kind %s and has no %s", kind, want), "write its "+want)
		}
		for _, key := range slices.Sorted(maps.Keys(has)) {
			if key != want && written(key) {
				bad(key, "does not go with kind "+kind, "remove it; a source of this kind has a "+want)
			}
		}
	}
	if path := said(mine.Path); path != "" {
		// A repository does not say which files outside of it an agent sees.
		if outside := filepath.IsAbs(path) || strings.HasPrefix(path, "~"); outside && l.kind == layerProject {
			bad("path", "leads out of the checkout", "name a path of the checkout, or put this source into the user's configuration")
		} else if !outside && l.kind == layerUser || strings.HasPrefix(path, "~") && !strings.HasPrefix(path, "~/") {
			bad("path", "is not an absolute path", "begin it with / or ~/")
		} else if !outside && !filepath.IsLocal(filepath.FromSlash(path)) {
			bad("path", "leads out of the checkout", "name a path of the checkout")
		}
	}
	if secret := secretArgument(mine.Command); secret != "" {
		bad("command", "holds a value for "+secret+", which is named like a secret", "let the program read it from a variable, and name that in the agent's env")
	}
	if u, err := url.Parse(said(mine.URL)); err == nil {
		for key, values := range u.Query() {
			if SecretName(key) && strings.Join(values, "") != "" {
				bad("url", "holds a value for "+key+", which is named like a secret", "leave it out of the address")
			}
		}
	}
}

// secretArgument is the name of an argument that carries a secret, as in
// --token=x, TOKEN=x or --token x; "" = none.
func secretArgument(command []string) string {
	for i, arg := range command {
		name, value, pair := strings.Cut(arg, "=")
		bare := strings.TrimLeft(name, "-")
		if strings.ContainsAny(bare, "/ \t") || !SecretName(bare) {
			continue
		}
		follows := strings.HasPrefix(arg, "-") && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-")
		if pair && value != "" || !pair && follows {
			return bare
		}
	}
	return ""
}

// Source is a data source as a job uses it.
type Source struct {
	Name    string
	Kind    string
	Path    string   // absolute; of a folder or database
	Command []string // as it was written
	URL     string
	About   string
}

// Sources are the data sources of these names, each once, with what they stand
// on looked at. The error is *Problems.
func (c *Config) Sources(names []string) ([]Source, error) {
	col := &collector{}
	var out []Source
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		d, ok := c.File.DataSources[name]
		if !ok {
			fix := suggest(name, sortedKeys(c.File.DataSources))
			if len(c.File.DataSources) == 0 {
				fix = "write [datasources." + quoteKey(name) + "]"
			}
			col.add("", place{}, fmt.Sprintf("there is no data source %q", text.Clip(name, mostQuoted)), fix)
			continue
		}
		s := Source{Name: name, Kind: said(d.Kind), Command: d.Command, URL: said(d.URL), About: said(d.About)}
		if s.Kind == SourceFolder || s.Kind == SourceSQLite {
			path, what, fix := c.sourcePath(said(d.Path), s.Kind)
			if s.Path = path; what != "" {
				file, at := c.where("datasources", name, "path")
				col.add(file, at, fmt.Sprintf("datasources.%s.path: %s %s", name, text.Clip(said(d.Path), mostQuoted), what), fix)
			}
		}
		out = append(out, s)
	}
	return out, col.err()
}

// sourcePath makes a path absolute, and says what is wrong with what is there.
func (c *Config) sourcePath(path, kind string) (abs, what, fix string) {
	inside := !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/")
	abs = filepath.Join(c.Root, filepath.FromSlash(path))
	if !inside {
		abs = c.homePaths([]string{path})[0]
	}
	info, err := os.Stat(abs)
	if err != nil {
		return abs, "cannot be read: " + cause(err), "correct the path"
	}
	real, root := resolved(abs), resolved(c.Root)
	if inside && !within(real, root) {
		return abs, "is a link that leads out of the checkout", "put this source into the user's configuration"
	}
	if inside && (real == root || within(real, filepath.Join(root, ".git"))) {
		return abs, "holds the repository's own .git", "name a folder below the checkout"
	}
	switch {
	case kind == SourceFolder && !info.IsDir():
		return abs, "is not a folder", "name a folder"
	case kind == SourceSQLite && !isDatabase(abs, info):
		return abs, "is not an SQLite database", "name its file"
	}
	return real, "", ""
}

// isDatabase looks for the first bytes of every SQLite database.
func isDatabase(path string, info os.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == magic
}
