package proc

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Container says in which image a child runs, who runs it, and what holds it.
type Container struct {
	Runtime string // podman or docker; "" is podman where it is found, else docker
	// Image is one that the runtime has: nothing is fetched.
	Image    string
	MemoryMB int // of all its processes together, swap included; 0 = as the runtime has it
	PIDs     int // processes and threads; 0 = as the runtime has it
}

const (
	podman = "podman"
	docker = "docker"
)

// find returns the runtime and where its program is.
func (c Container) find() (name, path string, err error) {
	if c.Image == "" {
		return "", "", fmt.Errorf("no image is named for the container")
	}
	// A word that begins with a dash would be an option of the runtime.
	if strings.HasPrefix(c.Image, "-") {
		return "", "", fmt.Errorf("%q is no name of an image", c.Image)
	}
	names := []string{c.Runtime}
	switch c.Runtime {
	case "":
		names = []string{podman, docker}
	case podman, docker:
	default:
		return "", "", fmt.Errorf("unknown container runtime %q: use podman or docker", c.Runtime)
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return name, path, nil
		}
	}
	return "", "", fmt.Errorf("%s is not in PATH: %w", strings.Join(names, " or "), exec.ErrNotFound)
}

// containerRun is what the command line of a runtime is made of.
type containerRun struct {
	Container
	name    string // of the container
	mark    string // the variable by which its first process is found
	network bool
	user    string // inside, number:number
	keepID  bool   // the user's own number is the same inside
	mounts  []mount
}

// containerIn is Forge's own program inside, the first process of a container.
const containerIn = "/.forge-in"

// argv is the command line by which runtime, podman or docker, runs it. What the child
// is told, its environment above all, is not in it: command lines are seen by
// everybody, and a runtime keeps them.
func (r containerRun) argv(runtime string) []string {
	argv := []string{
		runtime, "run", "--rm", "--pull=never", "--name=" + r.name, "--log-driver=none", "--sig-proxy=false", "--no-healthcheck",
		"--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--security-opt=label=disable", "--ipc=private",
		"--user=" + r.user, "--workdir=/", "--entrypoint=" + containerIn, "--env=" + r.mark,
	}
	if runtime == podman {
		// Else it adds folders in memory, variables and volumes by itself.
		argv = append(argv, "--read-only-tmpfs=false", "--http-proxy=false", "--image-volume=ignore")
		if r.keepID {
			argv = append(argv, "--userns=keep-id")
		}
	} else {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"} {
			// Its client adds those of its own settings, which may hold a login.
			argv = append(argv, "--env="+name+"=", "--env="+strings.ToLower(name)+"=")
		}
	}
	if r.network {
		argv = append(argv, "--network=host")
	} else {
		argv = append(argv, "--network=none")
	}
	if r.MemoryMB > 0 {
		m := strconv.Itoa(r.MemoryMB) + "m"
		argv = append(argv, "--memory="+m, "--memory-swap="+m)
	}
	if r.PIDs > 0 {
		argv = append(argv, "--pids-limit="+strconv.Itoa(r.PIDs))
	}
	for _, m := range r.mounts {
		argv = append(argv, "--mount="+m.words(runtime))
	}
	// The word behind keeps tests of Forge's own from running inside, where its
	// program does not know that it is started there.
	return append(argv, r.Image, "-test.run=^$")
}

// words is m in the words of a runtime's option --mount, which are fields of CSV:
// a path may hold a comma.
func (m mount) words(runtime string) string {
	fields := []string{"type=bind", "src=" + m.from, "dst=" + m.at}
	switch m.how {
	case mountEmpty:
		fields = []string{"type=tmpfs", "dst=" + m.at, "tmpfs-mode=1777"}
		if runtime == podman {
			fields = append(fields, "notmpcopyup") // else it is not empty
		}
	case mountRead:
		fields = append(fields, "readonly")
		if runtime == podman {
			// What is mounted below would not be read-only.
			fields = append(fields, "bind-nonrecursive")
		}
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write(fields) // into memory
	w.Flush()
	return strings.TrimSuffix(out.String(), "\n")
}

// mount is one place of a view, in bubblewrap's words: how it is mounted, what (the
// folder outside, the target of a link; "" where it is new) and at which path inside.
type mount struct{ how, from, at string }

const (
	mountRead  = "--ro-bind"
	mountWrite = "--bind"
	mountEmpty = "--tmpfs"
	mountLink  = "--symlink"
)
