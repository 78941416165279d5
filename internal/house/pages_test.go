package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forge/docs"
)

// mostUserWords is how long the pages for users may be together, without code
// between fences.
const mostUserWords = 20000

var (
	pageLink  = regexp.MustCompile(`\]\(([^)\s]+)\)|(?m)^\[[^\]]+\]: (\S+)`)
	inTicks   = regexp.MustCompile("`([^`]+)`")
	codeFence = regexp.MustCompile("(?ms)^```.*?^```$")
)

// page is a text of the repository that people read.
func page(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// docPages are the pages in docs, as names from the root.
func docPages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range found {
		found[i] = "docs/" + filepath.Base(f)
	}
	return found
}

// links are the places that a page links to, without those in code.
func links(text string) []string {
	var out []string
	for _, m := range pageLink.FindAllStringSubmatch(codeFence.ReplaceAllString(text, ""), -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// section is what stands below a heading of second rank.
func section(text, heading string) string {
	_, rest, _ := strings.Cut(text, "\n## "+heading+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

// Every page in docs is linked from docs/README.md. Those that are not listed
// there as reference or for contributors are for users, and short enough to be
// read.
func TestDocsAreIndexedAndShort(t *testing.T) {
	index := page(t, "docs/README.md")
	exact := links(section(index, "Reference") + section(index, "Contribute"))
	if len(exact) < 10 {
		t.Fatalf("only %d pages are reference: the index is read wrongly", len(exact))
	}
	words, longest := len(strings.Fields(codeFence.ReplaceAllString(page(t, "README.md"), ""))), []string{}
	for _, name := range docPages(t) {
		short := strings.TrimPrefix(name, "docs/")
		if short != "README.md" && !slices.Contains(links(index), short) {
			t.Errorf("docs/README.md does not link to %s", short)
		}
		if slices.Contains(exact, short) {
			continue
		}
		n := len(strings.Fields(codeFence.ReplaceAllString(page(t, name), "")))
		words += n
		longest = append(longest, fmt.Sprintf("%5d %s", n, short))
	}
	if words > mostUserWords {
		slices.Sort(longest)
		t.Errorf("the pages for users have %d words, at most %d:\n%s", words, mostUserWords, strings.Join(longest, "\n"))
	}
}

// Links between pages lead to a file, and to a heading of it.
func TestDocsLinksLeadSomewhere(t *testing.T) {
	checked := 0
	for _, name := range append(docPages(t), "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md") {
		for _, to := range links(page(t, name)) {
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(to, "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, to)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(page(t, target)), anchor) {
				t.Errorf("%s links to %s: there is no such heading", name, to)
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d links were checked: the pages are read wrongly", checked)
	}
}

// anchors are the names by which the headings of a page are linked.
func anchors(text string) []string {
	var out []string
	names := docs.Anchors{}
	for line := range strings.Lines(codeFence.ReplaceAllString(text, "")) {
		hashes := len(line) - len(strings.TrimLeft(line, "#"))
		if hashes > 0 && strings.HasPrefix(line[hashes:], " ") {
			out = append(out, names.Of(line[hashes:]))
		}
	}
	return out
}

// docs/troubleshooting.md names every reason for which a phase fails, and no
// message that the program does not have.
func TestTroubleshootingIsTrue(t *testing.T) {
	text := page(t, "docs/troubleshooting.md")
	for _, reason := range wordsOfType(t, "internal/work/event.go", "Reason") {
		if !strings.Contains(text, "`"+reason+"`") {
			t.Errorf("docs/troubleshooting.md does not name the reason %s", reason)
		}
	}

	source := sources(t)
	checked := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, m := range inTicks.FindAllStringSubmatch(first, -1) {
			for piece := range strings.SplitSeq(m[1], "…") {
				checked++
				if piece = strings.TrimSpace(strings.TrimPrefix(piece, "not merged: ")); !strings.Contains(source, piece) {
					t.Errorf("docs/troubleshooting.md explains %q, which the program does not say", m[1])
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d messages were checked: the page is read wrongly", checked)
	}
}

// wordsOfType are the constants of a type of text in a file.
func wordsOfType(t *testing.T, file, kind string) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		of, ok := spec.Type.(*ast.Ident)
		value, isText := spec.Values[0].(*ast.BasicLit)
		if ok && isText && of.Name == kind {
			word, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, word)
		}
		return true
	})
	if len(out) == 0 {
		t.Fatalf("%s has no %s", file, kind)
	}
	return out
}

// sources are the Go files of the program, one after the other.
func sources(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(at, ".go") || strings.HasSuffix(at, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(at)
		b.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
