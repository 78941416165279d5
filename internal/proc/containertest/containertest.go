// Package containertest gives tests a podman that works on the machine that they run
// on, with one small image in a store of its own, made of the machine's own files: no
// registry is asked. With FORGE_TEST_CONTAINERS=docker it is the daemon that docker
// reaches here, in whose store the image is for as long as the tests take.
package containertest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Image is its name.
const Image = "localhost/forge-test:1"

// programs are what the image holds beside what is asked for, with the libraries that
// they are linked to.
var programs = [...]string{"sh", "cat", "ls", "grep", "wc", "sleep", "env", "mkdir", "touch", "chmod"}

// Runtime is the program that runs containers in tests.
func Runtime() string { return cmp.Or(os.Getenv("FORGE_TEST_CONTAINERS"), "podman") }

// Setup makes the image, which has further programs beside its own.
func Setup(dir string, more ...string) error {
	if Runtime() == "podman" {
		if err := ownStore(dir); err != nil {
			return err
		}
	}
	root, err := rootFolder(append(programs[:], more...))
	if err != nil {
		return err
	}
	load := exec.Command(Runtime(), "import", "--change", "ENV PATH=/usr/bin", "--change", "ENV OF_THE_IMAGE=1", "--change", `ENTRYPOINT ["/usr/bin/false"]`, "-", Image)
	load.Stdin = bytes.NewReader(root)
	if said, err := load.CombinedOutput(); err != nil {
		return fmt.Errorf("import the image: %w: %s", err, said)
	}
	return nil
}

// ownStore makes a store below dir and puts podman, as the tests are to call it, in
// front of the PATH of this process.
func ownStore(dir string) error {
	real, err := exec.LookPath("podman")
	if err != nil {
		return fmt.Errorf("find podman: %w", err)
	}
	conf := filepath.Join(dir, "containers.conf")
	// Where the right to raise limits is missing, each limit that is set is an error.
	if err := os.WriteFile(conf, []byte("[containers]\ndefault_ulimits = []\n"), 0o600); err != nil {
		return err
	}
	call := fmt.Sprintf("%s --root %s/root --runroot %s/run --storage-driver vfs --cgroup-manager cgroupfs", real, dir, dir)
	script := "#!/bin/sh\nexec " + call + " \"$@\"\n"
	if _, err := os.Stat("/sys/fs/cgroup/unified"); err == nil && os.Geteuid() == 0 {
		// crun refuses a machine with both generations of control groups: it is not
		// shown the second.
		script = "#!/bin/sh\nexec unshare -m sh -c 'umount /sys/fs/cgroup/unified; exec " + call + " \"$@\"' podman \"$@\"\n"
	}
	bin := filepath.Join(dir, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "podman"), []byte(script), 0o755)); err != nil {
		return err
	}
	return errors.Join(os.Setenv("CONTAINERS_CONF", conf), os.Setenv("PATH", bin+":"+os.Getenv("PATH")))
}

// Remove ends what Setup made; containers that still run are an error, and ended.
func Remove(dir string) error {
	said, err := exec.Command(Runtime(), "ps", "--all", "--quiet", "--filter", "ancestor="+Image).Output()
	if left := strings.Fields(string(said)); len(left) > 0 {
		err = errors.Join(fmt.Errorf("%d containers are left", len(left)), exec.Command(Runtime(), append([]string{"rm", "--force"}, left...)...).Run())
	}
	if Runtime() != "podman" { // there the store goes with the folder
		err = errors.Join(err, exec.Command(Runtime(), "rmi", Image).Run())
	}
	return errors.Join(err, os.RemoveAll(dir))
}

var library = regexp.MustCompile(`/\S*/(?:lib|ld)[^\s/]*\.so[^\s/]*`)

// rootFolder is the image's only layer.
func rootFolder(names []string) ([]byte, error) {
	var out bytes.Buffer
	tape := tar.NewWriter(&out)
	made := map[string]bool{}
	folder := func(dir string, mode int64) error {
		var missing []string
		for ; dir != "/" && dir != "." && !made[dir]; dir = filepath.Dir(dir) {
			missing, made[dir] = append(missing, dir), true
		}
		for _, d := range slices.Backward(missing) {
			if err := tape.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: mode}); err != nil {
				return err
			}
		}
		return nil
	}
	file := func(from, at string) error {
		if made[at] {
			return nil
		}
		made[at] = true
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		err = errors.Join(folder(filepath.Dir(at), 0o755), tape.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: at, Mode: 0o755, Size: int64(len(data))}))
		if err == nil {
			_, err = io.Copy(tape, bytes.NewReader(data))
		}
		return err
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, err
		}
		said, _ := exec.Command("ldd", path).Output() // nothing for one that is not linked to any
		for _, lib := range library.FindAllString(string(said), -1) {
			if err := file(lib, lib); err != nil {
				return nil, err
			}
		}
		if err := file(path, "/usr/bin/"+filepath.Base(name)); err != nil {
			return nil, err
		}
	}
	for dir, mode := range map[string]int64{"/tmp": 0o1777, "/etc": 0o755, "/proc": 0o755, "/sys": 0o755, "/dev": 0o755} {
		if err := folder(dir, mode); err != nil {
			return nil, err
		}
	}
	if err := tape.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "/bin", Linkname: "usr/bin", Mode: 0o777}); err != nil {
		return nil, err
	}
	return out.Bytes(), tape.Close()
}

// Use sets it up for one test, which may not run beside others, and ends it.
func Use(t testing.TB, more ...string) {
	t.Helper()
	for _, name := range []string{"PATH", "CONTAINERS_CONF"} {
		old, was := os.LookupEnv(name)
		t.Cleanup(func() {
			if was {
				_ = os.Setenv(name, old) //nolint:usetesting // Setup sets it, also for a whole package
			} else {
				_ = os.Unsetenv(name)
			}
		})
	}
	dir, err := os.MkdirTemp("", "containers-") //nolint:usetesting // what is mounted in it is taken away by Remove
	if err == nil {
		err = Setup(dir, more...)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Remove(dir); err != nil {
			t.Error(err)
		}
	})
}
