package planrun

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"charm.land/log/v2"

	"forge/internal/planner"
	"forge/internal/refusal"
	"forge/internal/text"
)

// Usage is the way out of every text that is none.
const Usage = `forge do "Add --count to wc"; -f FILE reads a file, - standard input`

// Wanted is the text that says what is to be done: of the arguments, of a file,
// or of standard input.
func Wanted(dir string, stdin io.Reader, args []string, file string, fromFile bool) (string, error) {
	words := strings.Join(args, " ")
	var err error
	switch {
	case fromFile && len(args) > 0:
		return "", refusal.New("give one of them", "--file %s and a text", file)
	case fromFile && file == "-", !fromFile && words == "-":
		words, err = readWanted(stdin)
		if err != nil {
			return "", refusal.New("", "read the text from standard input: %v", err)
		}
	case fromFile:
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		f, err := os.Open(file)
		if err == nil {
			words, err = readWanted(f)
			_ = f.Close() // it was only read
		}
		if err != nil {
			return "", refusal.New("name a file with the text", "--file: %v", err)
		}
	}
	if text.Blank(words) {
		return "", refusal.New(Usage, "nothing says what is to be done")
	}
	return words, CheckText(words)
}

func readWanted(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, planner.MaxSpecBytes+1))
	return string(data), err
}

// Say says what was found and is used; redHint is for whoever sees the base's own
// commands fail, "" = nothing.
func (f Found) Say(to *log.Logger) (redHint string) {
	for _, s := range f.Settings {
		switch s.Key {
		case "agent.use":
			to.Info("found the agent "+f.Agent.Name, "version", f.Agent.Found.Version)
		case "verify.commands":
			for _, c := range f.Commands.Verify {
				to.Info("found the tests: "+text.OneLine(c.Run, 100), "since", c.Why)
			}
			redHint = "these commands were found, not configured: --verify CMD names others, forge init writes them down"
		case "worktree.setup":
			for _, c := range f.Commands.Setup {
				to.Info("found the setup: "+text.OneLine(c.Run, 100), "since", c.Why)
			}
		}
	}
	return redHint
}
