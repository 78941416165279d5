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

// Every command and flag that the README and the pages of docs name exists, and
// so does every target of make.
func TestDocsNameCommandsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	app, seen := (&App{}).command(), 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandsIn(string(data)) {
			seen++
			if why := unknownIn(app, line); why != "" {
				t.Errorf("%s: forge %s: %s", filepath.Base(page), line, why)
			}
		}
		for _, m := range regexp.MustCompile("(?m)(?:^    |`)make ([a-z-]+)").FindAllStringSubmatch(string(data), -1) {
			if filepath.Base(page) == "README.md" && !regexp.MustCompile(`(?m)^`+m[1]+`:`).Match(makefile) {
				t.Errorf("make %s: there is no such target", m[1])
			}
		}
	}
	if seen < 200 {
		t.Errorf("only %d commands were found: the pages are read wrongly", seen)
	}
}

var (
	inBackticks = regexp.MustCompile("(?:`|\\$ |or: )forge ([^\n`#]+)")
	onALine     = regexp.MustCompile(`(?m)^(?: {4}|[A-Z_]+=\S+ )*forge ([^\n#]+)`)
	// takesWords are commands with others below that take arguments, too, or that
	// pages explain on the same line.
	takesWords = map[string]bool{"evidence": true, "eval": true, "factory": true}
	plainWord  = regexp.MustCompile(`^[a-z]+$`)
	quoted     = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// commandsIn are the calls of forge in a page, without its name: between
// backticks, and in code that is fenced or indented.
func commandsIn(page string) []string {
	var found []string
	var code strings.Builder
	fenced := false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced, strings.HasPrefix(line, "    "):
			code.WriteString(line)
		default:
			for _, m := range inBackticks.FindAllStringSubmatch(line, -1) {
				found = append(found, m[1])
			}
		}
	}
	for _, m := range onALine.FindAllStringSubmatch(code.String(), -1) {
		found = append(found, m[1])
	}
	return found
}

// unknownIn says what of a call there is not; "" = all of it is there. What is
// quoted is a value.
func unknownIn(app *cli.App, line string) string {
	words := strings.FieldsFunc(quoted.ReplaceAllString(line, "TEXT"), func(r rune) bool { return strings.ContainsRune(" ,;[]()|", r) })
	if len(words) == 0 || strings.ContainsAny(words[0], "…<>") || words[0] == strings.ToUpper(words[0]) {
		return ""
	}
	cmd := find(app.Commands, words[0])
	if cmd == nil {
		return "there is no such command"
	}
	for i, w := range words[1:] {
		if below := find(cmd.Subcommands, w); below != nil {
			cmd = below
			continue
		}
		if i == 0 && len(cmd.Subcommands) > 0 && !takesWords[cmd.Name] && plainWord.MatchString(w) {
			return "there is no " + cmd.Name + " " + w
		}
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		known := slices.ContainsFunc(slices.Concat(cmd.Flags, app.Flags), func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		if strings.HasPrefix(w, "-") && name != "" && !known {
			return "there is no flag " + w
		}
	}
	return ""
}
