package git

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
)

// setting is one line of git configuration, in file order.
type setting struct{ key, value string }

// parseConfig reads the output of "git config --list -z".
func parseConfig(out []byte) []setting {
	var all []setting
	for _, rec := range strings.Split(string(out), "\x00") {
		if rec == "" {
			continue
		}
		key, value, ok := strings.Cut(rec, "\n")
		if !ok {
			value = "true" // a key without "=" is a boolean
		}
		all = append(all, setting{key, value})
	}
	return all
}

func last(all []setting, keys ...string) string {
	for _, key := range keys {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].key == key && all[i].value != "" {
				return all[i].value
			}
		}
	}
	return ""
}

// plain are the user's settings that decide how files look on disk and which
// are ignored. They name no command, so an agent's own git gets them too.
var plain = map[string]bool{
	"core.autocrlf": true, "core.eol": true, "core.filemode": true, "core.symlinks": true, "core.ignorecase": true,
	"core.precomposeunicode": true, "core.bigfilethreshold": true, "core.checkroundtripencoding": true,
}

// carried says that Forge's own repository takes the setting over from the
// user's. It is a list of what is let in: a setting that starts a command is
// let in only where the content of files depends on it.
func carried(key string) bool {
	if plain[key] || key == "core.excludesfile" || key == "core.attributesfile" {
		return true
	}
	section, rest, _ := strings.Cut(key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "filter":
		return name == "clean" || name == "smudge" || name == "process" || name == "required"
	case "merge":
		return rest != name && (name == "driver" || name == "name" || name == "recursive")
	case "lfs":
		return true
	}
	return false
}

// ownSettings is the complete configuration of Forge's own repository: no
// other file is read beside it.
func ownSettings(user []setting, commonDir string) []setting {
	var own []setting
	lfs := false
	for _, s := range user {
		if carried(s.key) && s.key != "lfs.storage" {
			own = append(own, s)
		}
		lfs = lfs || strings.HasPrefix(s.key, "filter.lfs.")
	}
	if lfs {
		// Large files are where the user's own git keeps them, and what a run
		// adds is there when the result is pushed.
		storage := last(user, "lfs.storage")
		if !filepath.IsAbs(storage) {
			storage = filepath.Join(commonDir, firstOf(storage, "lfs"))
		}
		own = append(own, setting{"lfs.storage", storage})
	}
	return append(own,
		setting{"core.repositoryformatversion", "0"},
		setting{"core.bare", "true"},
		setting{"core.logallrefupdates", "false"},
		setting{"core.safecrlf", "false"}, // a snapshot takes what is there
		setting{"core.quotepath", "false"},
		setting{"core.sparsecheckout", "false"},
		setting{"core.splitindex", "false"},
		setting{"core.untrackedcache", "keep"},
		// Objects are durable before a snapshot is reported. References are
		// not: the journal names the commits, so they can be written again.
		setting{"core.fsync", "loose-object"},
		setting{"core.fsyncmethod", "batch"},
		setting{"core.filesreflocktimeout", "2000"},
		setting{"advice.addembeddedrepo", "false"},
		setting{"commit.gpgsign", "false"},
		setting{"credential.helper", ""},
		setting{"protocol.allow", "never"},
		setting{"submodule.recurse", "false"},
		setting{"gc.auto", "0"},
	)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

var configEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)

// renderConfig writes settings as a git configuration file, in order.
func renderConfig(all []setting) ([]byte, error) {
	var b strings.Builder
	section := ""
	for _, s := range all {
		first, end := strings.IndexByte(s.key, '.'), strings.LastIndexByte(s.key, '.')
		if first < 0 || strings.ContainsAny(s.key+s.value, "\x00\r") {
			return nil, fmt.Errorf("render git setting %q: cannot be written", s.key)
		}
		head := "[" + s.key[:first] + "]"
		if end > first {
			sub := s.key[first+1 : end]
			if strings.Contains(sub, "\n") {
				return nil, fmt.Errorf("render git setting %q: cannot be written", s.key)
			}
			head = "[" + s.key[:first] + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(sub) + `"]`
		}
		if head != section {
			section = head
			b.WriteString(head + "\n")
		}
		b.WriteString("\t" + s.key[end+1:] + ` = "` + configEscape.Replace(s.value) + "\"\n")
	}
	return []byte(b.String()), nil
}

// agentSettings is the configuration of the throw-away repository in a phase
// folder.
func agentSettings(user []setting, name, email string) []setting {
	own := []setting{
		{"core.repositoryformatversion", "0"},
		{"core.bare", "false"},
		{"core.logallrefupdates", "true"},
	}
	keys := make([]string, 0, len(plain))
	for key := range plain {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		if v := last(user, key); v != "" {
			own = append(own, setting{key, v})
		}
	}
	return append(own, setting{"user.name", name}, setting{"user.email", email}, setting{"gc.auto", "0"})
}
