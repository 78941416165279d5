package config

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// Store is [store].
type Store struct {
	URLEnv *string `toml:"url_env" doc:"Name of the variable that holds the URL of a Postgres database, postgres://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full, in which the journal and the board stand for several machines; without one they are a file of this machine. The URL itself belongs into no file. Takes the program forge-temporal. See many-machines.md." sample:"\"TEAM_DATABASE\"" rule:"variable"`
}

// Beyond is what a project's configuration asks for that the program forge has
// not, and forge-temporal has.
type Beyond struct {
	Key      string // that asks for it, for errors; "" = nothing does
	StoreURL string // [store] url_env; "" = the journal is a file
	Wrong    bool   // StoreURL is no name of a variable: Load says so, and it is not shown
}

// FindBeyond reads no more of the configuration than says where the journal is
// and what drives runs: runs are looked at, and answered, while the rest is in
// disorder. The files are those of Load, of which the project's counts more.
func FindBeyond(environ []string, root string) (b Beyond) {
	var said struct {
		Store struct {
			URLEnv string `toml:"url_env"`
		}
		Engine struct{ Kind string }
	}
	for _, file := range []string{UserFile(environ), filepath.Join(root, filepath.FromSlash(ProjectFile))} {
		text, err := os.ReadFile(file)
		if err != nil || len(text) > MaxTOMLBytes || !strings.Contains(string(text), "url_env") && !strings.Contains(string(text), "temporal") {
			continue // most say nothing of it, and are not read further
		}
		// What cannot be read is Load's to refuse; what came before it counts.
		_, _ = toml.Decode(string(text), &said)
	}
	if said.Engine.Kind == "temporal" {
		b.Key = "engine.kind"
	}
	if b.StoreURL = said.Store.URLEnv; b.StoreURL != "" {
		b.Key = "store.url_env"
		b.Wrong = !variableName().MatchString(b.StoreURL)
	}
	return b
}
