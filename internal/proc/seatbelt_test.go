package proc

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

// The profile for macOS, which nobody here can try, says what it said.
func TestSeatbeltProfile(t *testing.T) {
	v := &view{
		at: map[string]access{
			"/usr": system, "/etc": system, "/private/etc": system, "/etc/master.passwd": hidden, "/tmp": private, "/Users/ann": private,
			"/Users/ann/tool": read, "/srv/phase": write, "/srv/phase/a \"b\" \\ c": hidden, "/srv/state": hidden, "/srv/state/phase": write,
		},
		files: map[string]string{"/Users/ann/.key": "/srv/state/key"},
	}
	for name, s := range map[string]Sandbox{"seatbelt.txt": {}, "seatbelt-network.txt": {Network: true, Sockets: []string{"/srv/state/talk/s", "/srv/state/ask"}}} {
		got, err := v.seatbelt(&s, []string{"/var/forge-1", "/private/var/forge-1"})
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || string(want) != got {
			t.Errorf("%s is not what the code makes (%v); run go test ./internal/proc -run Seatbelt -update and look at the difference:\n%s", golden, err, got)
		}
	}
	v.at["/srv/a\n(allow default)"] = read
	if p, err := v.seatbelt(&Sandbox{}, nil); err == nil {
		t.Errorf("a path with a line's end is written:\n%s", p)
	}
}

var seatbeltRule = regexp.MustCompile(`^\((allow|deny) ([a-z0-9* -]+) \((literal|subpath) "((?:[^"\\]|\\.)*)"\)\)$`)

// allows reads a profile as macOS's documentation says it is read: the last rule that
// fits decides, and without one nothing is allowed.
func allows(profile, operation, path string) bool {
	may := false
	for line := range strings.Lines(profile) {
		m := seatbeltRule.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || !slices.Contains(strings.Fields(m[2]), operation) {
			continue
		}
		of := strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(m[4])
		if path == of || m[3] == "subpath" && inside(path, of) {
			may = m[1] == "allow"
		}
	}
	return may
}

// Whatever is asked for, a profile lets a child read and write just what the view
// says.
func TestSeatbeltAgainstTheView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "c d", `e"f`, `g\`})
		path := rapid.Custom(func(t *rapid.T) string {
			p := ""
			for range rapid.IntRange(1, 4).Draw(t, "depth") {
				p += "/" + names.Draw(t, "name")
			}
			return p
		})
		v := &view{at: map[string]access{}}
		for range rapid.IntRange(0, 6).Draw(t, "entries") {
			v.at[path.Draw(t, "path")] = rapid.SampledFrom([]access{system, private, read, hidden, write}).Draw(t, "access")
		}
		profile, err := v.seatbelt(&Sandbox{}, []string{"/own"})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			p := path.Draw(t, "asked")
			is := v.kind(p)
			got := fmt.Sprint(allows(profile, "file-read*", p), allows(profile, "file-write*", p), allows(profile, "process-exec", p))
			if want := fmt.Sprint(is.visible(), is == write, is.visible()); got != want {
				t.Fatalf("%s, of kind %d: read, write, run %s, want %s\n%s", p, is, got, want, profile)
			}
		}
		if !allows(profile, "file-write*", "/own/x") {
			t.Fatal("the child's own folder cannot be written")
		}
	})
}
