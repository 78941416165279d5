package proof

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

func readCargoLock(data []byte) (lockFile, error) {
	return readTOMLLock(data, func(p *locked, entry map[string]any) {
		source, _ := entry["source"].(string)
		p.own = source == ""
		p.registry = strings.HasPrefix(source, "registry+") || strings.HasPrefix(source, "sparse+")
	})
}

func readUvLock(data []byte) (lockFile, error) {
	return readTOMLLock(data, func(p *locked, entry map[string]any) {
		source, _ := entry["source"].(map[string]any)
		_, p.registry = source["registry"]
		p.own = source["virtual"] != nil || source["editable"] != nil
	})
}

func readPoetryLock(data []byte) (lockFile, error) {
	return readTOMLLock(data, func(p *locked, entry map[string]any) {
		p.registry = entry["source"] == nil
	})
}

// readTOMLLock reads a lock file that is a list of packages.
func readTOMLLock(data []byte, origin func(*locked, map[string]any)) (lockFile, error) {
	var top map[string]any
	if _, err := toml.Decode(string(data), &top); err != nil {
		return lockFile{}, fmt.Errorf("read TOML: %w", err)
	}
	var out lockFile
	for _, k := range slices.Sorted(maps.Keys(top)) {
		if k != "package" {
			rest := top[k]
			if inner, ok := rest.(map[string]any); ok && k == "metadata" {
				delete(inner, "content-hash")
			}
			body, err := json.Marshal(rest)
			if err != nil {
				return lockFile{}, fmt.Errorf("read %s: %w", k, err)
			}
			out.rest += k + string(body)
			continue
		}
		list, ok := top[k].([]map[string]any)
		if !ok {
			return lockFile{}, fmt.Errorf("%s is no list", k)
		}
		for _, entry := range list {
			p, err := tomlPackage(entry, origin)
			if err != nil {
				return lockFile{}, err
			}
			out.packages = append(out.packages, p)
		}
	}
	return out, nil
}

func tomlPackage(entry map[string]any, origin func(*locked, map[string]any)) (locked, error) {
	name, ok := entry["name"].(string)
	if !ok {
		return locked{}, fmt.Errorf("a package has no name")
	}
	p := locked{name: name, key: fmt.Sprint(name, " ", entry["version"])}
	origin(&p, entry)
	if p.own {
		p.key = name
		p.needs = flatten(entry["dependencies"])
		for _, k := range []string{"dependencies", "metadata", "optional-dependencies", "version"} {
			delete(entry, k)
		}
	}
	body, err := json.Marshal(entry)
	if err != nil {
		return locked{}, fmt.Errorf("read %s: %w", name, err)
	}
	p.body = string(body)
	return p, nil
}

func flatten(v any) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			out = append(out, fmt.Sprint(one))
		}
	case []map[string]any:
		for _, one := range v {
			out = append(out, fmt.Sprint(one))
		}
	}
	return out
}
