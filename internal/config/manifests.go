package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// A package manifest mixes what verify runs with what the project depends on.
// A phase may well add a dependency; only its scripts and the settings of
// runners decide what verify says.

// manifestParts names the parts that count, by file name: members at the top of
// a JSON file, or tables of a TOML file together with everything below them.
func manifestParts(file string) (parts []string, isTOML, ok bool) {
	switch path.Base(file) {
	case "package.json":
		return []string{"scripts", "jest", "mocha", "ava", "tap", "c8", "nyc", "vitest", "eslintConfig", "eslintIgnore",
			"prettier", "stylelint", "xo", "standard", "babel", "lint-staged", "husky", "wireit", "nx"}, false, true
	case "composer.json":
		return []string{"scripts", "scripts-descriptions"}, false, true
	case "deno.json":
		return []string{"tasks", "test", "lint", "fmt"}, false, true
	case "pyproject.toml":
		return []string{"tool.pytest", "tool.coverage", "tool.tox", "tool.nox", "tool.ruff", "tool.mypy", "tool.pyright", "tool.basedpyright",
			"tool.pylint", "tool.flake8", "tool.black", "tool.isort", "tool.poe", "tool.taskipy", "tool.hatch.envs", "tool.pdm.scripts",
			"tool.rye.scripts", "tool.pixi.tasks", "tool.invoke", "tool.setuptools.py-modules"}, true, true
	case "Cargo.toml":
		return []string{"lib", "bin", "test", "bench", "lints", "workspace.lints", "package.metadata", "profile.test"}, true, true
	}
	return nil, false, false
}

// IsManifest is true for a package manifest of which only the scripts and the
// settings of test runners and linters are protected.
func IsManifest(file string) bool {
	_, _, ok := manifestParts(file)
	return ok
}

// ScriptsDiffer says that two versions of a manifest differ in what is
// protected. A version that cannot be read differs; a file that is no manifest
// differs when its bytes do. nil data is a file that does not exist.
func ScriptsDiffer(file string, base, changed []byte) bool {
	if bytes.Equal(base, changed) && (base == nil) == (changed == nil) {
		return false
	}
	a, errA := protectedParts(file, base)
	b, errB := protectedParts(file, changed)
	if errA != nil || errB != nil {
		return true
	}
	return !reflect.DeepEqual(a, b)
}

func protectedParts(file string, data []byte) (map[string]any, error) {
	names, isTOML, ok := manifestParts(file)
	if !ok {
		return nil, fmt.Errorf("read %s: not a package manifest", file)
	}
	tree := map[string]any{}
	if isTOML {
		decoded, _, problem := decodeTOML(string(data))
		if problem != nil {
			return nil, fmt.Errorf("read %s: %s", file, problem.What)
		}
		tree = decoded
	} else if err := json.Unmarshal(data, &tree); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	out := map[string]any{}
	for _, name := range names {
		if v, ok := partOf(tree, strings.Split(name, ".")); ok {
			out[name] = v
		}
	}
	return out, nil
}

func partOf(tree map[string]any, keys []string) (any, bool) {
	v, ok := tree[keys[0]]
	if !ok || len(keys) == 1 {
		return v, ok
	}
	inner, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	return partOf(inner, keys[1:])
}

// PutScriptsBack returns the changed manifest with its protected parts as in
// the base and everything else as changed. The result is formatted anew. An
// error means that the parts cannot be told apart; the whole file of the base
// is then the safe choice.
func PutScriptsBack(file string, base, changed []byte) ([]byte, error) {
	names, isTOML, ok := manifestParts(file)
	if !ok {
		return nil, fmt.Errorf("put scripts back: %s is not a package manifest", file)
	}
	if isTOML {
		return putTablesBack(file, names, base, changed)
	}
	from, to := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(base, &from); err != nil {
		return nil, fmt.Errorf("put scripts back in %s: read base: %w", file, err)
	}
	if err := json.Unmarshal(changed, &to); err != nil {
		return nil, fmt.Errorf("put scripts back in %s: %w", file, err)
	}
	for _, name := range names {
		if was, ok := from[name]; ok {
			to[name] = was
		} else {
			delete(to, name)
		}
	}
	out, err := json.MarshalIndent(to, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("put scripts back in %s: %w", file, err)
	}
	return append(out, '\n'), nil
}

func putTablesBack(file string, names []string, base, changed []byte) ([]byte, error) {
	from, _, problem := decodeTOML(string(base))
	if problem != nil {
		return nil, fmt.Errorf("put scripts back in %s: read base: %s", file, problem.What)
	}
	to, _, problem := decodeTOML(string(changed))
	if problem != nil {
		return nil, fmt.Errorf("put scripts back in %s: %s", file, problem.What)
	}
	if to == nil {
		to = map[string]any{}
	}
	for _, name := range names {
		keys := strings.Split(name, ".")
		was, ok := partOf(from, keys)
		if err := setPart(to, keys, was, ok); err != nil {
			return nil, fmt.Errorf("put scripts back in %s: %w", file, err)
		}
	}
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(to); err != nil {
		return nil, fmt.Errorf("put scripts back in %s: %w", file, err)
	}
	if ScriptsDiffer(file, base, out.Bytes()) {
		return nil, fmt.Errorf("put scripts back in %s: %s do not fit into the changed file", file, strings.Join(slices.Clone(names), ", "))
	}
	return out.Bytes(), nil
}

// setPart sets or, with ok false, removes a part.
func setPart(tree map[string]any, keys []string, v any, ok bool) error {
	if len(keys) == 1 {
		if ok {
			tree[keys[0]] = v
		} else {
			delete(tree, keys[0])
		}
		return nil
	}
	inner, isTable := tree[keys[0]].(map[string]any)
	if _, there := tree[keys[0]]; there && !isTable {
		return fmt.Errorf("%s is not a table", keys[0])
	}
	if !isTable {
		if !ok {
			return nil
		}
		inner = map[string]any{}
		tree[keys[0]] = inner
	}
	return setPart(inner, keys[1:], v, ok)
}
