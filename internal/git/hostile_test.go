package git

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"forge/internal/pace"
)

// hostile makes the repository at path run a command wherever git lets it.
func hostile(t testing.TB, path, marker string) {
	t.Helper()
	script := filepath.Join(path, ".git", "evil")
	write(t, script, "! #!/bin/sh\ntouch '"+marker+"'\ncat\n")
	for _, kv := range [][2]string{
		{"core.fsmonitor", script}, {"core.hooksPath", filepath.Dir(script)}, {"filter.evil.clean", script}, {"filter.evil.smudge", script},
		{"filter.evil.process", script}, {"diff.external", script}, {"diff.evil.textconv", script}, {"core.editor", script},
		{"core.sshCommand", script}, {"core.alternateRefsCommand", script}, {"merge.evil.driver", script}, {"core.pager", script},
	} {
		runGit(t, path, "-c", "core.fsmonitor=false", "config", kv[0], kv[1])
	}
	for _, hook := range []string{"post-checkout", "pre-commit", "post-index-change", "reference-transaction", "post-commit"} {
		write(t, filepath.Join(path, ".git", hook), "! #!/bin/sh\ntouch '"+marker+"'\n")
		write(t, filepath.Join(path, ".git/hooks", hook), "! #!/bin/sh\ntouch '"+marker+"'\n")
	}
	write(t, filepath.Join(path, ".git/info/attributes"), "* filter=evil diff=evil merge=evil\n")
}

func notExecuted(t testing.TB, marker string) {
	t.Helper()
	if _, err := os.Lstat(marker); err == nil {
		t.Fatal("a command of the agent's ran")
	}
}

func TestHostileFolder(t *testing.T) {
	b := newBed(t, nil)
	base := b.tree(b.base)
	evil := files{"work": "w", ".gitattributes": "* filter=evil diff=evil merge=evil\n", "src/.gitattributes": "* filter=evil\n"}
	for name, spoil := range map[string]func(dir, marker string){
		"configuration": func(dir, marker string) { hostile(t, dir, marker) },
		"nested repository": func(dir, marker string) {
			mkdir(t, filepath.Join(dir, "nested"))
			runGit(t, filepath.Join(dir, "nested"), "init", "-q")
			hostile(t, filepath.Join(dir, "nested"), marker)
		},
		"removed": func(dir, _ string) { remove(t, filepath.Join(dir, ".git")) },
		"a file": func(dir, _ string) {
			remove(t, filepath.Join(dir, ".git"))
			write(t, filepath.Join(dir, ".git"), "gitdir: /nowhere\n")
		},
		"a link": func(dir, _ string) {
			remove(t, filepath.Join(dir, ".git"))
			write(t, filepath.Join(dir, ".git"), "-> "+b.user+"/.git")
		},
		"locks": func(dir, _ string) {
			write(t, filepath.Join(dir, ".git/index.lock"), "")
			write(t, dir+".index.lock", "")
		},
		"pipes":    func(dir, _ string) { pipe(t, filepath.Join(dir, "src/.gitignore")) },
		"borrowed": func(dir, _ string) { write(t, filepath.Join(dir, ".git/objects/info/alternates"), "/nowhere\n") },
		"own work": func(dir, _ string) {
			runGit(t, dir, "checkout", "-q", "-b", "other")
			runGit(t, dir, "add", "-A")
			runGit(t, dir, "commit", "-qm", "own")
			runGit(t, dir, "update-ref", "-d", "refs/heads/work")
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "pipes" {
				pace.Slow(t, "git waits for a pipe until it is seen to be stuck")
			}
			t.Parallel()
			dir := filepath.Join(b.state, "hostile", strings.ReplaceAll(name, " ", "-"))
			marker := dir + ".marker"
			if err := b.OpenFolder(b.ctx, dir, b.base); err != nil {
				t.Fatal(err)
			}
			b.write(dir, evil)
			spoil(dir, marker)
			snap, err := b.Snapshot(b.ctx, dir, b.base, "refs/forge/hostile/"+filepath.Base(dir), "m")
			if err != nil {
				t.Fatal(err)
			}
			got := b.tree(snap.Commit)
			same(t, "snapshot", got, with(base, evil))
			notExecuted(t, marker)
			if _, err := b.Diff(b.ctx, b.base, snap.Commit); err != nil {
				t.Fatal(err)
			}
			if _, err := b.ConflictFolder(b.ctx, dir, b.base, snap.Commit); err != nil {
				t.Fatal(err)
			}
			spoilAgain := filepath.Join(dir, ".git")
			if info, err := os.Lstat(spoilAgain); err != nil || !info.IsDir() {
				t.Fatalf("no repository after ConflictFolder: %v", err)
			}
			hostile(t, dir, marker)
			if err := b.ResetFolder(b.ctx, dir, snap.Commit); err != nil {
				t.Fatal(err)
			}
			same(t, "folder", list(t, dir), got)
			notExecuted(t, marker)
		})
	}
}

func pipe(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}
