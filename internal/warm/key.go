package warm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// tools are programs whose caches are kept; another one of them, another key.
// What they keep is found by the version of the tool as well: the key only makes
// sure of it.
var tools = [...]string{
	"go", "gcc", "cc", "cargo", "rustc", "rustup", "node", "npm", "pnpm", "yarn", "bun", "deno", "python3", "python", "pip", "uv", "poetry",
	"java", "gradle", "mvn", "dotnet", "ruby", "bundle", "php", "composer",
}

// Tools are the programs whose caches are kept that stand in the folders of a
// PATH: for each folder by their names, each with the file that it leads to.
type Tools []map[string]string

// ToolsOf looks through the folders of PATH in an environment.
func ToolsOf(environ []string) Tools {
	dirs := filepath.SplitList(variable(environ, "PATH"))
	found, seen := make(Tools, len(dirs)), map[string]map[string]string{}
	for n, dir := range dirs {
		// Resolved once: each name is then one question instead of one for each part
		// of its path, and most names are not there. Two folders are often one.
		at, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		if seen[at] == nil {
			seen[at] = toolsIn(at)
		}
		found[n] = seen[at]
	}
	return found
}

func toolsIn(dir string) map[string]string {
	out := map[string]string{}
	for _, tool := range tools {
		path := filepath.Join(dir, tool)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			out[tool] = real
		}
	}
	return out
}

// versionFiles say which version a program of a version manager stands for.
var versionFiles = [...]struct{ variable, dir, file string }{
	{"RUSTUP_HOME", ".rustup", "settings.toml"},
	{"PYENV_ROOT", ".pyenv", "version"},
	{"RBENV_ROOT", ".rbenv", "version"},
	{"NVM_DIR", ".nvm", "alias/default"},
	{"ASDF_DATA_DIR", "", ".tool-versions"},
}

// Key names the layers for the tools of an environment. about is what else
// commands are the same in, such as their sandbox.
func Key(environ []string, about ...string) string { return ToolsOf(environ).Key(environ, about...) }

// Key is the same of tools that were found in environ.
func (t Tools) Key(environ []string, about ...string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s/%s %q\n", layerVersion, runtime.GOOS, runtime.GOARCH, about)
	for _, tool := range tools {
		for _, found := range t {
			real := found[tool]
			if real == "" {
				continue
			}
			if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				fmt.Fprintf(sum, "%s %q %d %d\n", tool, real, info.Size(), info.ModTime().UnixNano())
				break
			}
		}
	}
	for _, v := range versionFiles {
		dir := variable(environ, v.variable)
		if dir == "" {
			dir = filepath.Join(variable(environ, "HOME"), v.dir)
		}
		data, err := os.ReadFile(filepath.Join(dir, v.file))
		if err == nil {
			fmt.Fprintf(sum, "%s %x\n", v.variable, sha256.Sum256(data))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// variable returns the value of name, the last one that is there.
func variable(environ []string, name string) (value string) {
	for _, e := range environ {
		if n, v, ok := strings.Cut(e, "="); ok && n == name {
			value = v
		}
	}
	return value
}
