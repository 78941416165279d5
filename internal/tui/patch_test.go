package tui

import (
	"strings"
	"testing"
)

// Within a hunk nothing is a header, whatever a line looks like.
const trickyPatch = `diff --git a/notes.md b/notes.md
index 1111111..2222222 100644
--- a/notes.md
+++ b/notes.md
@@ -1,3 +1,3 @@ title
 same
--- a/old
-diff --git a/x b/x
++++ b/new
+@@ -1 +1 @@
\ No newline at end of file
diff --git a/old name.txt b/new name.txt
similarity index 100%
rename from old name.txt
rename to new name.txt
diff --git a/pic.png b/pic.png
index 3333333..4444444 100644
Binary files a/pic.png and b/pic.png differ
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
`

func TestPatchStat(t *testing.T) {
	got := PatchStat(trickyPatch)
	want := []string{"notes.md +2 -2", "new name.txt +0 -0", "pic.png binary", "gone.txt +0 -1", "4 files +2 -3"}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), got)
	}
	for i, line := range lines {
		if text := strings.Join(strings.Fields(line), " "); text != want[i] {
			t.Errorf("line %d: %q, want %q", i, text, want[i])
		}
	}
}

// Colours add nothing but colours.
func TestColourPatch(t *testing.T) {
	got := ColourPatch(trickyPatch)
	for _, want := range []string{"\x1b[31m--- a/old\x1b[0m\n", "\x1b[32m+@@ -1 +1 @@\x1b[0m\n", "\x1b[36m@@ -1,3 +1,3 @@ title\x1b[0m\n", "\x1b[1m+++ b/notes.md\x1b[0m\n", "\n same\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	plain := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[36m", "").Replace(got)
	if plain != trickyPatch {
		t.Errorf("without its colours it is %q", plain)
	}
}

func FuzzPatchStat(f *testing.F) {
	f.Add(trickyPatch)
	f.Add("@@ -9223372036854775807,99999999999999999999 +1 @@\n+x")
	f.Fuzz(func(t *testing.T, patch string) {
		_ = PatchStat(patch)
		if got := ColourPatch(patch); len(got) < len(patch) {
			t.Errorf("colouring %q loses text: %q", patch, got)
		}
	})
}
