package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// Every command, flag and file that the README names exists.
func TestReadmeIsTrue(t *testing.T) {
	root := filepath.Join("..", "..")
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	app := (&App{}).command()
	for _, m := range regexp.MustCompile("(?m)(?:^    |\\$ |`|or: )forge ([^\n`#]+)").FindAllStringSubmatch(text, -1) {
		words := strings.Fields(m[1])
		cmd := find(app.Commands, words[0])
		if cmd == nil {
			t.Errorf("forge %s: there is no such command", m[1])
			continue
		}
		for _, w := range words[1:] {
			if below := find(cmd.Subcommands, w); below != nil {
				cmd = below
				continue
			}
			known := slices.ContainsFunc(slices.Concat(cmd.Flags, app.Flags), func(f cli.Flag) bool { return slices.Contains(f.Names(), strings.TrimLeft(w, "-")) })
			if strings.HasPrefix(w, "-") && !known {
				t.Errorf("forge %s: there is no flag %s", m[1], w)
			}
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("link: %v", err)
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)(?:^    |`)make ([a-z-]+)").FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `:`).Match(makefile) {
			t.Errorf("make %s: there is no such target", m[1])
		}
	}
}
