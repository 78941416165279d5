//go:build real

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"forge/internal/pace"
)

// made is a release for this machine, from the repository's root.
func made(t *testing.T, change ...func(*release)) (dir string) {
	t.Helper()
	r := release{version: "9.8.7", out: filepath.Join(t.TempDir(), "dist"), targets: []target{{runtime.GOOS, runtime.GOARCH}}, base: "https://example.invalid/forge", nfpm: os.Getenv("FORGE_REAL_NFPM"), try: true}
	for _, c := range change {
		c(&r)
	}
	if err := r.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.out
}

func TestRealRelease(t *testing.T) {
	pace.Slow(t, "builds the program twice")
	t.Chdir("../..")
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	one, other := made(t, func(r *release) { r.key = key }), made(t)
	name := "forge_9.8.7_" + runtime.GOOS + "_" + runtime.GOARCH

	// The same commit gives the same bytes, whoever builds it where.
	entries, err := os.ReadDir(other)
	if err != nil || len(entries) != 9 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if a, b := read(t, one, e.Name()), read(t, other, e.Name()); !bytes.Equal(a, b) {
			t.Errorf("%s: two builds differ", e.Name())
		}
	}

	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	check.Dir = one
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	signers := filepath.Join(t.TempDir(), "signers")
	write(t, signers, "releaser "+string(read(t, filepath.Dir(key), "key.pub")))
	verify := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", signers, "-I", "releaser", "-n", "forge-release", "-s", filepath.Join(one, "SHA256SUMS.sig"))
	verify.Stdin = bytes.NewReader(read(t, one, "SHA256SUMS"))
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("the signature: %v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(other, "SHA256SUMS.sig")); err == nil {
		t.Error("signed without a key")
	}

	files := unpack(t, read(t, one, name+".tar.gz"))
	for _, want := range []string{"forge", "LICENSE", "README.md", "CHANGELOG.md"} {
		if files[name+"/"+want] == 0 {
			t.Errorf("%s is not in the archive: %v", want, files)
		}
	}
	const most = 45_000_000
	if files[name+"/forge"] > most {
		t.Errorf("the program has %d bytes", files[name+"/forge"])
	}
	var list struct{ Components []component }
	if err := json.Unmarshal(read(t, one, name+".cdx.json"), &list); err != nil {
		t.Fatal(err)
	}
	has := map[string]string{}
	for _, c := range list.Components {
		has[c.Name] = c.Version
	}
	if has["std"] == "" || !strings.HasPrefix(has["modernc.org/sqlite"], "v1.") || len(has) < 20 {
		t.Errorf("what is in it: %v", has)
	}
	if rb := string(read(t, one, "forge.rb")); !strings.Contains(rb, name+".tar.gz") {
		t.Errorf("the formula:\n%s", rb)
	}

	runsAsImage(t, read(t, one, name+".oci.tar"))
	installs(t, one)
	actsInJobs(t, one)
	arch := runtime.GOARCH
	installsDeb(t, filepath.Join(one, "forge_9.8.7_"+arch+".deb"))
	unpacksRPM(t, filepath.Join(one, "forge-9.8.7."+rpmArch[arch]+".rpm"))
}

// runsAsImage runs what is in the image as its user, with nothing else in sight.
func runsAsImage(t *testing.T, image []byte) {
	t.Helper()
	root := t.TempDir()
	for name, f := range layerOf(t, image, "9.8.7", runtime.GOARCH) {
		at := filepath.Join(root, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, f.body, f.FileInfo().Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	// Whoever runs an image makes these.
	for _, name := range []string{"proc", "dev", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in := func(command ...string) (string, error) {
		args := []string{"--unshare-all", "--uid", "65532", "--gid", "65532", "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--clearenv", "--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/home/forge", "--chdir", "/home/forge"}
		out, err := exec.CommandContext(t.Context(), "bwrap", append(args, command...)...).CombinedOutput()
		return string(out), err
	}
	if said, err := in("/usr/bin/forge", "version"); err != nil || !strings.Contains(said, "9.8.7") {
		t.Errorf("forge version in the image: %v: %s", err, said)
	}
	// It says what it lacks, and does nothing half.
	if said, err := in("/usr/bin/forge", "doctor"); err == nil || !strings.Contains(said, "git") {
		t.Errorf("forge doctor in the image: %v: %s", err, said)
	}
	if said, err := in("/bin/sh", "-c", "true"); err == nil {
		t.Errorf("there is a shell: %s", said)
	}
}

// installsDeb installs the package by dpkg below a folder, and takes it away again.
func installsDeb(t *testing.T, file string) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "var/lib/dpkg/status"), "")
	dpkg := func(args ...string) {
		// What it depends on is not below that folder.
		cmd := exec.CommandContext(t.Context(), "dpkg", append([]string{"--root=" + root, "--force-depends", "--force-not-root"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("dpkg %s: %v: %s", args, err, out)
		}
	}
	dpkg("--install", file)
	isInstalled(t, root)
	dpkg("--remove", "forge")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/forge")); !os.IsNotExist(err) {
		t.Errorf("after it was removed: %v", err)
	}

	fields, err := exec.CommandContext(t.Context(), "dpkg-deb", "--field", file, "Depends", "Recommends", "Version").CombinedOutput()
	if want := "Depends: git\nRecommends: bubblewrap\nVersion: 9.8.7\n"; err != nil || string(fields) != want {
		t.Errorf("%v: %q, want %q", err, fields, want)
	}
}

// unpacksRPM unpacks the package: there is no rpm on a machine of Debian's kin that
// could install it.
func unpacksRPM(t *testing.T, file string) {
	t.Helper()
	root := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "sh", "-c", `rpm2cpio "$1" | cpio --quiet --no-absolute-filenames -idm`, "sh", file)
	unpack.Dir = root
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	isInstalled(t, root)
}

// isInstalled runs the program of a package, and reads where its service starts it.
func isInstalled(t *testing.T, root string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "usr/bin/forge"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "forge 9.8.7") {
		t.Errorf("%v: %s", err, out)
	}
	unit := string(read(t, root, "usr/lib/systemd/user/forge.service"))
	if !strings.Contains(unit, "ExecStart=/usr/bin/forge factory\n") || strings.Contains(unit, "%h") {
		t.Errorf("the service:\n%s", unit)
	}
	read(t, root, "usr/share/doc/forge/copyright")
}

// installs runs the installer against a server of the test's, whole and broken.
func installs(t *testing.T, dist string) {
	t.Helper()
	broken := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := os.ReadFile(filepath.Join(dist, filepath.Base(r.URL.Path)))
		archive := strings.HasSuffix(r.URL.Path, ".tar.gz")
		switch {
		case err != nil, broken == "gone" && archive:
			http.NotFound(w, r)
			return
		case broken == "cut" && archive:
			data = data[:len(data)/2]
		case broken == "other" && archive:
			data = append([]byte{}, data...)
			data[len(data)/2] ^= 1
		case broken == "unnamed" && !archive:
			data = []byte("")
		}
		_, _ = w.Write(data)
	}))
	defer server.Close()
	install := func() (home, said string, err error) {
		home = t.TempDir()
		cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(dist, "install.sh"))
		cmd.Env = append(os.Environ(), "HOME="+home, "FORGE_URL="+server.URL, "FORGE_BIN=")
		out, err := cmd.CombinedOutput()
		return home, string(out), err
	}
	home, said, err := install()
	if err != nil || !strings.Contains(said, "installed forge 9.8.7 as ") || !strings.Contains(said, "is not in your PATH") {
		t.Errorf("%v: %s", err, said)
	}
	if info, err := os.Stat(filepath.Join(home, ".local/bin/forge")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	for how, want := range map[string]string{
		"gone": "cannot fetch", "cut": "is not what its sum says; nothing was installed", "other": "is not what its sum says; nothing was installed", "unnamed": "does not name",
	} {
		broken = how
		home, said, err := install()
		if err == nil || !strings.Contains(said, want) {
			t.Errorf("%s: %v: %s, want %q", how, err, said, want)
		}
		if left, _ := filepath.Glob(filepath.Join(home, ".local/bin/*")); len(left) > 0 {
			t.Errorf("%s: %v is there", how, left)
		}
	}
}
