package proof

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// registryHosts are the public ones; a project's own is known by what the
// trusted lock file already has, whose entries must stay.
var registryHosts = set("registry.npmjs.org registry.yarnpkg.com registry.npmmirror.com npm.pkg.github.com")

// publicRegistry is true for an address of a registry's archive. A host that
// is not public is taken as the registry that the project is set up with when
// the archive lies where registries keep them.
func publicRegistry(resolved, name string) bool {
	u, err := url.Parse(resolved)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return false
	}
	return registryHosts[u.Host] || strings.Contains(u.Path, "/"+name+"/-/")
}

// readPackageLock reads npm's lock file.
func readPackageLock(data []byte) (lockFile, error) {
	top, err := readMembers(data)
	if err != nil {
		return lockFile{}, err
	}
	var out lockFile
	for _, k := range slices.Sorted(slices.Values(top.keys)) {
		switch k {
		case "name", "version":
		case "packages", "dependencies":
			if err := out.npmPackages(k, "", top.values[k]); err != nil {
				return lockFile{}, err
			}
		default:
			out.rest += k + string(top.values[k])
		}
	}
	return out, nil
}

func (l *lockFile) npmPackages(section, below string, data json.RawMessage) error {
	all, err := readMembers(data)
	if err != nil {
		return err
	}
	for _, key := range all.keys {
		var entry map[string]any
		if err := json.Unmarshal(all.values[key], &entry); err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		p := locked{key: section + " " + below + key, name: key, own: section == "packages" && !strings.Contains(key, "node_modules/")}
		if at := strings.LastIndex(key, "node_modules/"); at >= 0 {
			p.name = key[at+len("node_modules/"):]
		}
		for _, k := range []string{"dev", "peer", "optional", "devOptional"} {
			delete(entry, k)
		}
		resolved, _ := entry["resolved"].(string)
		integrity, _ := entry["integrity"].(string)
		p.registry = publicRegistry(resolved, p.name) && integrity != "" && entry["link"] == nil && entry["hasInstallScript"] == nil && entry["inBundle"] == nil && entry["name"] == nil
		if p.own {
			for _, k := range []string{"dependencies", "devDependencies", "peerDependencies", "optionalDependencies"} {
				needs, _ := entry[k].(map[string]any)
				for name, version := range needs {
					p.needs = append(p.needs, fmt.Sprintf("%s %s %v", k, name, version))
				}
				delete(entry, k)
			}
			for _, k := range []string{"name", "version", "license"} {
				delete(entry, k)
			}
		}
		// A package inside of another changes what that one loads.
		if strings.Count(key, "node_modules/") > 1 {
			p.body = "nested "
		}
		body, err := json.Marshal(entry)
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		p.body += string(body)
		l.packages = append(l.packages, p)
	}
	return l.npmNested()
}

// npmNested refuses a new package inside of one that may be old: its parent
// must come from the registry as well, and be named.
func (l *lockFile) npmNested() error {
	names := map[string]bool{}
	for _, p := range l.packages {
		names[p.key] = true
	}
	for _, p := range l.packages {
		if at := strings.LastIndex(p.key, "/node_modules/"); at > 0 && !names[p.key[:at]] {
			return errors.New(p.key + " stands in a package that is not there")
		}
	}
	return nil
}

// readComposerLock reads PHP's lock file.
func readComposerLock(data []byte) (lockFile, error) {
	if _, err := readMembers(data); err != nil {
		return lockFile{}, err
	}
	var top map[string]any
	if err := json.Unmarshal(data, &top); err != nil {
		return lockFile{}, fmt.Errorf("read JSON: %w", err)
	}
	var out lockFile
	for _, k := range slices.Sorted(maps.Keys(top)) {
		switch k {
		case "content-hash", "_readme":
		case "packages", "packages-dev":
			list, ok := top[k].([]any)
			if !ok {
				return lockFile{}, fmt.Errorf("%s is no list", k)
			}
			for _, one := range list {
				entry, ok := one.(map[string]any)
				name, isText := entry["name"].(string)
				if !ok || !isText {
					return lockFile{}, fmt.Errorf("a package of %s has no name", k)
				}
				dist, _ := entry["dist"].(map[string]any)
				address, _ := dist["url"].(string)
				body, err := json.Marshal(entry)
				if err != nil {
					return lockFile{}, fmt.Errorf("read %s: %w", name, err)
				}
				registry := k == "packages" && dist["type"] == "zip" && strings.HasPrefix(address, "https://") && entry["type"] != "composer-plugin" && noFiles(entry)
				out.packages = append(out.packages, locked{key: k + " " + name, name: name, body: string(body), registry: registry})
			}
		default:
			body, err := json.Marshal(top[k])
			if err != nil {
				return lockFile{}, fmt.Errorf("read %s: %w", k, err)
			}
			out.rest += k + string(body)
		}
	}
	return out, nil
}

// noFiles is true for a package that loads nothing by itself.
func noFiles(entry map[string]any) bool {
	load, _ := entry["autoload"].(map[string]any)
	return load["files"] == nil
}
