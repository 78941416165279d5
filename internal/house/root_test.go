package house

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// root is the folder of the module.
const root = "../.."

// scripts holds the scripts of the command line.
const scripts = root + "/internal/e2e/script/testdata/"

// The first folder that a reader sees shows the product. Tests of the whole
// program are in internal/e2e, what they read stands beside them.
func TestRootShowsTheProduct(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	if want := []string{"main.go", "main_test.go"}; !slices.Equal(files, want) {
		t.Errorf("the root folder holds %q, want %q", files, want)
	}
	if _, err := os.Stat(root + "/testdata"); err == nil {
		t.Error("the root folder holds testdata")
	}
}
