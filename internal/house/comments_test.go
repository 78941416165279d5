package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"forge/internal/pace"
)

var _ = pace.OnlyBeside("files are read, one after the other")

var (
	citedPage    = regexp.MustCompile(`\bdocs/[a-z-]+\.md\b`)
	citedSection = regexp.MustCompile(`\b[A-Z]{3,} ?§|\bSPEC\.md\b`)
)

// Comments cite no page that is not in the repository.
func TestCommentsCiteWhatIsThere(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			text := group.Text()
			for _, page := range citedPage.FindAllString(text, -1) {
				seen++
				if _, err := os.Stat(filepath.Join(root, page)); err != nil {
					t.Errorf("%s cites %s, which is not there", set.Position(group.Pos()), page)
				}
			}
			if found := citedSection.FindString(text); found != "" {
				t.Errorf("%s cites %q, a page of nobody's", set.Position(group.Pos()), found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 10 {
		t.Errorf("only %d pages are cited: the test looks in the wrong place", seen)
	}
}
