// Command recording plays forge do in a terminal and draws what was seen there
// as one SVG that moves. The program, git, the tests and the terminal are real;
// the agent is played from a file.
package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"forge/internal/atomicfile"
)

func main() {
	program := flag.String("forge", "bin/forge", "the program that is played")
	to := flag.String("o", "docs/pictures/terminal.svg", "the file that is written")
	flag.Parse()
	if err := record(context.Background(), *program, *to); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

// Cells of the terminal, and how long one look at it and the longest standstill
// are shown.
const (
	width, height = 100, 34
	look          = 100 * time.Millisecond
	standstill    = 1200 * time.Millisecond
	patience      = 3 * time.Minute // for one step, on a busy machine
)

// A step is typed once the terminal shows all that it waits for.
type step struct {
	Shown []string
	Type  string
	Rest  time.Duration // how long the result of the step before is looked at
}

var story = []step{
	{Shown: []string{"$"}, Type: `forge do --agent scripted "Count the lines too"` + "\n"},
	{Shown: []string{"yes, land it"}, Type: "y", Rest: 3 * time.Second},
	{Shown: []string{"Time:", "$"}, Type: "git log --oneline -3 && go test ./...\n", Rest: 4 * time.Second},
	{Shown: []string{"ok      wc"}, Rest: 4 * time.Second},
}

func record(ctx context.Context, program, to string) (err error) {
	program, err = filepath.Abs(program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rec") // the path of a socket must be short
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := world{dir: dir}
	if err := w.make(ctx, program); err != nil {
		return err
	}
	frames, err := w.play(ctx)
	if err != nil {
		return err
	}
	return atomicfile.Write(to, []byte(picture(frames, width, height, "forge do, from a sentence to a commit that is proven")), 0o644)
}

// world is a folder with a home, a project and a terminal.
type world struct{ dir string }

//go:embed script.toml
var script string

// project is what forge do works on, its files with .txt behind their names.
//
//go:embed project
var project embed.FS

func (w world) make(ctx context.Context, program string) error {
	files := map[string]string{
		"home/.config/forge/config.toml": fmt.Sprintf("[agents.scripted]\nkind = \"script\"\nfile = %q\n", w.at("script.toml")),
		"home/.gitconfig":                "[user]\n\tname = You\n\temail = you@example.com\n[init]\n\tdefaultBranch = main\n",
		"script.toml":                    script,
	}
	for _, name := range []string{"go.mod", "main.go", "main_test.go"} {
		body, err := project.ReadFile("project/" + name + ".txt")
		if err != nil {
			return err
		}
		files["wc/"+name] = string(body)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(w.at(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(w.at(name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(w.at("bin"), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(program, w.at("bin/forge")); err != nil {
		return err
	}
	for _, line := range []string{
		"git init -q && git add -A && git commit -q -m 'wc counts words'",
		// A project that one works in has been proven before: its caches are warm.
		"forge do --agent scripted --no-merge --autonomous 'Warm the caches' >/dev/null 2>&1 || true",
	} {
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir, cmd.Env = w.at("wc"), w.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", line, err, out)
		}
	}
	return nil
}

func (w world) at(name string) string { return filepath.Join(w.dir, name) }

func (w world) env() []string {
	return []string{"HOME=" + w.at("home"), "PATH=" + w.at("bin") + ":" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"}
}

func (w world) tmux(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", w.at("s"), "-f", "/dev/null"}, args...)...)
	cmd.Dir, cmd.Env = w.at("wc"), w.env()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

// play types the story and looks at the terminal until it is over.
func (w world) play(ctx context.Context) (frames []frame, err error) {
	if _, err := w.tmux(ctx, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "PS1='$ ' exec bash --norc --noprofile"); err != nil {
		return nil, err
	}
	defer func() {
		_, killed := w.tmux(ctx, "kill-server")
		err = errors.Join(err, killed)
	}()
	see := func() (string, error) {
		screen, err := w.tmux(ctx, "capture-pane", "-e", "-p")
		if err == nil {
			frames = append(frames, frame{strings.Split(strings.TrimRight(screen, "\n"), "\n"), look})
		}
		return screen, err
	}
	for _, s := range story {
		frames = shortened(frames, standstill)
		if err := await(ctx, see, s.Shown); err != nil {
			return nil, err
		}
		frames = shortened(frames, standstill)
		frames[len(frames)-1].For = max(s.Rest, look)
		if s.Rest > 0 {
			time.Sleep(time.Second) // what is typed as a question comes up is no answer to it
		}
		rest := len(frames)
		for _, key := range strings.SplitAfter(s.Type, "") {
			if key == "" {
				continue
			}
			args := []string{"send-keys", "-l", "--", key}
			if key == "\n" {
				args = []string{"send-keys", "Enter"}
			}
			if _, err := w.tmux(ctx, args...); err != nil {
				return nil, err
			}
			time.Sleep(look / 3) // as somebody types
			if _, err := see(); err != nil {
				return nil, err
			}
		}
		frames = append(frames[:rest:rest], shortened(frames[rest:], standstill)...)
	}
	return frames, nil
}

// await looks until everything is shown.
func await(ctx context.Context, see func() (string, error), texts []string) error {
	screen := ""
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(look) {
		var err error
		if screen, err = see(); err != nil {
			return err
		}
		plain := sgr.ReplaceAllString(screen, "")
		shown := true
		for _, text := range texts {
			shown = shown && strings.Contains(plain, text)
		}
		if shown {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%q was not shown within %s:\n%s", texts, patience, screen)
}
