package house

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const many = root + "/examples/many/"

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(many + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Words that containers are started with are words of work.sh, and images and manifests
// name it.
func TestExamplesOfManyMachinesStartWhatIsThere(t *testing.T) {
	words := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z]+)\) .*exec forge`).FindAllStringSubmatch(example(t, "work.sh"), -1) {
		words[m[1]] = true
	}
	for file, key := range map[string]string{"compose.yaml": "command", "kubernetes.yaml": "args", "kubernetes-effects.yaml": "args"} {
		all := regexp.MustCompile(`(?m)^ +`+key+`: \[([a-z]+)\]$`).FindAllStringSubmatch(example(t, file), -1)
		if want := map[bool]int{true: 1, false: 3}[strings.Contains(file, "effects")]; len(all) < want {
			t.Errorf("%s starts %d things", file, len(all))
		}
		for _, m := range all {
			if !words[m[1]] {
				t.Errorf("%s: work.sh does not know %q", file, m[1])
			}
		}
	}
	if !strings.Contains(example(t, "Containerfile"), "COPY forge forge-temporal work.sh /usr/local/bin/") {
		t.Error("the image has no work.sh")
	}
}

// What a container does first is done with real git, and programs that say how they were
// called.
func TestExampleOfWorkInAContainer(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	said := "#!/bin/sh\necho \"$(basename \"$0\") $* in $(pwd)\"\n"
	err := errors.Join(os.Mkdir(at("bin"), 0o755), os.WriteFile(at("bin/forge"), []byte(said), 0o755), os.WriteFile(at("bin/forge-temporal"), []byte(said), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(many + "work.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) (string, error) {
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "PATH="+at("bin")+":"+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "PROJECT_DIR="+at("shop"), "PROJECT_URL="+at("remote"))
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := run("git", "init", "-q", "--bare", at("remote")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for word, want := range map[string]string{
		"worker": "forge-temporal worker --mirror " + at("remote") + " in " + dir, "setup": "forge-temporal setup in " + at("shop"),
		"decide":  "forge-temporal worker --mirror " + at("remote") + " --decide in " + dir,
		"effect":  "forge-temporal worker --mirror " + at("remote") + " --effects 1 in " + dir,
		"factory": "forge factory --listen 127.0.0.1:7433 in " + at("shop"),
	} {
		if out, err := run(script, word); err != nil || !strings.HasSuffix(strings.TrimSpace(out), want) {
			t.Errorf("%s: %v: %s", word, err, out)
		}
	}
	if out, err := run(script, "other"); err == nil || !strings.Contains(out, "unknown word other") {
		t.Errorf("another word: %v: %s", err, out)
	}
	if err := os.RemoveAll(at("remote")); err != nil {
		t.Fatal(err)
	}
	if out, err := run(script, "factory"); err != nil {
		t.Errorf("a clone that is there is not made again: %v: %s", err, out)
	}
}

// systemd itself finds nothing unknown in the units.
func TestExampleUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not on this machine")
	}
	home := t.TempDir()
	for _, name := range []string{"forge", "forge-temporal"} {
		path := filepath.Join(home, ".local/bin", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	verify := func(units ...string) string {
		c := exec.Command(analyze, append([]string{"--user", "verify"}, units...)...)
		c.Env = append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+home)
		out, err := c.CombinedOutput()
		if err != nil {
			return string(out) + err.Error()
		}
		return string(out)
	}
	units, err := filepath.Glob(many + "*.service")
	if err != nil || len(units) != 2 {
		t.Fatalf("%q, %v", units, err)
	}
	if said := verify(append(units, root+"/examples/service/forge.service")...); said != "" {
		t.Error(said)
	}
	wrong := filepath.Join(home, "wrong.service")
	if err := os.WriteFile(wrong, []byte(strings.Replace(example(t, "forge-worker.service"), "KillMode", "KilMode", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := verify(wrong); !strings.Contains(said, "KilMode") {
		t.Errorf("an unknown word is let pass: %q", said)
	}
}
