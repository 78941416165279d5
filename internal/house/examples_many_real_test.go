//go:build real

package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The compose file and the manifests are read into the types of their specifications, by
// a program that is a module of its own.
func TestRealExamplesOfManyMachines(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "manycheck")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "testdata/manycheck"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the check: %v\n%s", err, out)
	}
	check := func(compose, kubernetes string) (string, error) {
		out, err := exec.Command(program, compose, kubernetes).CombinedOutput()
		return string(out), err
	}
	out, err := check(many+"compose.yaml", many+"kubernetes.yaml")
	want := "service factory,service postgres,service setup,service temporal,service worker-1,service worker-2,Namespace,Secret,ConfigMap,Job,Service,StatefulSet,StatefulSet"
	if got := strings.Join(strings.Split(strings.TrimSpace(out), "\n"), ","); err != nil || got != want {
		t.Errorf("%v\n%s\nwant %s", err, got, want)
	}
	if out, err := check(many+"compose.yaml", many+"kubernetes-effects.yaml"); err != nil || !strings.HasSuffix(out, "\nJob\n") {
		t.Errorf("a pod for each effect: %v\n%s", err, out)
	}
	for file, change := range map[string][2]string{
		"compose.yaml":            {"stop_grace_period", "stop_grace"},
		"kubernetes.yaml":         {"terminationGracePeriodSeconds", "terminationGraceSeconds"},
		"kubernetes-effects.yaml": {"ttlSecondsAfterFinished", "ttlSeconds"},
	} {
		wrong := filepath.Join(dir, file)
		text := strings.Replace(example(t, file), change[0], change[1], 1)
		if err := os.WriteFile(wrong, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{"compose.yaml": many + "compose.yaml", "kubernetes.yaml": many + "kubernetes.yaml", file: wrong}
		manifest := files["kubernetes.yaml"]
		if strings.HasPrefix(file, "kubernetes") {
			manifest = wrong
		}
		if out, err := check(files["compose.yaml"], manifest); err == nil || !strings.Contains(out, change[1]) {
			t.Errorf("%s: an unknown word is let pass: %v\n%s", file, err, out)
		}
	}
}
