package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gobwas/glob"

	"forge/internal/cron"
	"forge/internal/egress"
	"forge/internal/text"
)

var (
	variableName = text.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
	skillName    = text.Lazy(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	hostName     = text.Lazy(`^[A-Za-z0-9.:\[\]-]+$`)
)

// maxGlobBytes bounds a glob, whose matching is a backtracking walk.
const maxGlobBytes = 500

// branchName is what a branch of the user's repository may be called here.
var branchName = text.Lazy(`^[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}$`)

// check applies the rules of a field's tag to a value that has its type.
func (b *binder) check(rules string, v reflect.Value, path []string) {
	for _, rule := range strings.Fields(rules) {
		switch x := reflect.Indirect(v).Interface().(type) {
		case string:
			b.checkText(rule, x, path)
		case Network:
			for i, one := range x {
				if x.literal() != "" {
					break
				}
				b.checkText(rule, one, append(append([]string{}, path...), element(i)))
			}
		case Agents:
			b.checkTexts(rule, x, path)
		case []string:
			b.checkTexts(rule, x, path)
		case map[string]string:
			for _, key := range sortedKeys(x) {
				b.checkText(rule, key, append(append([]string{}, path...), key))
			}
		case int:
			b.checkNumber(rule, float64(x), path)
		case int64:
			b.checkNumber(rule, float64(x), path)
		case float64:
			b.checkNumber(rule, x, path)
		}
	}
}

// checkCache says what is wrong with one word of verify.cache.
func checkCache(x string) string {
	if rest, ok := strings.CutPrefix(x, "~/"); ok {
		if clean := filepath.Clean(rest); !filepath.IsLocal(clean) || clean == "." {
			return "not below the home"
		}
		return ""
	}
	switch name := strings.ToUpper(x); {
	case !variableName().MatchString(x):
		return "neither a path nor a variable"
	case slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "TERM", "TZ", "PWD", "IFS", "ENV", "BASH_ENV"}, name),
		slices.ContainsFunc([]string{"FORGE_", "XDG_", "LC_", "LD_", "DYLD_", "GIT_"}, func(p string) bool { return strings.HasPrefix(name, p) }):
		return "this variable is set already, or means something else"
	}
	return ""
}

func (b *binder) checkNumber(rule string, x float64, path []string) {
	name, bound, _ := strings.Cut(rule, "=")
	limit, _ := strconv.ParseFloat(bound, 64)
	shown := strconv.FormatFloat(x, 'f', -1, 64)
	switch {
	case name == "min" && x < limit:
		b.problem(path, dotted(path)+" is "+shown, "use "+bound+" or more")
	case name == "max" && x > limit:
		b.problem(path, dotted(path)+" is "+shown, "use "+bound+" or less")
	case name == "positive" && x <= 0:
		b.problem(path, dotted(path)+" is "+shown, "use more than 0, or remove the key for no cap")
	}
}

// checkText applies one rule to one text; an unknown rule is a closed list of
// words.
func (b *binder) checkText(rule, x string, path []string) {
	bad := func(what, fix string) { b.problem(path, dotted(path)+" "+what, fix) }
	quoted := strconv.Quote(text.Clip(x, mostQuoted))
	if strings.ContainsRune(x, 0) {
		bad("contains a NUL byte", "remove it")
		return
	}
	switch rule {
	case "", "some":
	case "filled":
		if strings.TrimSpace(x) == "" {
			bad("is empty", "write something, or remove it")
		}
	case "cron":
		if _, err := cron.Parse(x); err != nil {
			bad("is "+quoted+": "+err.Error(), `write such as "0 6 * * mon-fri" or "@daily"`)
		}
	case "timezone":
		if _, err := time.LoadLocation(x); err != nil {
			bad("is "+quoted+", which this machine does not know as a time zone", `write such as "Europe/Berlin"; "" is UTC`)
		}
	case "duration":
		if d, err := time.ParseDuration(x); err != nil || d < 0 || d > 30*24*time.Hour {
			bad("is "+quoted+", not a time", `write "30m" or "2h", at most "720h"`)
		}
	case "expiry":
		if d, err := time.ParseDuration(x); x != "" && (err != nil || d < time.Minute || d > 365*24*time.Hour) {
			bad("is "+quoted+", not a time that people can keep", `write "72h" or "30m", at least "1m" and at most "8760h", or "" for no end`)
		}
	case "context":
		if _, err := contextTokens(x); err != nil {
			bad("is "+quoted, `write tokens ("120000"), a share ("80%"), or ""`)
		}
	case "pathglob":
		if what := checkPathGlob(x); what != "" {
			bad("is "+quoted+": "+what, `write a path below the checkout, such as "src/*.go" or ".github/**"`)
		}
	case "protected":
		if x == DefaultProtected || x == TestFiles {
			break
		}
		if what := checkPathGlob(x); what != "" || strings.HasPrefix(x, "@") {
			bad("is "+quoted+": "+orWords(what, "unknown word"), `write a glob below the checkout, "@default" or "@tests"`)
		}
	case "nameglob":
		if _, err := nameGlob(x); err != nil {
			bad("is not a glob: "+err.Error(), `write such as "database-*"; \ before [ { * ? takes them literally`)
		}
	case "variable":
		if strings.Contains(x, "://") {
			// It may have a password: it is not shown.
			bad("holds an address, and not the name of the variable that holds it", "put the address into a variable, and write its name")
		} else if !variableName().MatchString(x) {
			bad("names "+quoted+", which is not a variable", "write letters, digits and _")
		} else if strings.HasPrefix(x, "FORGE_") {
			bad("names "+quoted+"; variables that begin with FORGE_ are Forge's own", "choose another name")
		}
	case "cache":
		if what := checkCache(x); what != "" {
			bad("is "+quoted+": "+what, `write a path below the home such as "~/.cache/tool", or a variable such as "TOOL_CACHE"`)
		}
	case "reuse":
		if secs := reuseSecs(x); x != reuseOff && (secs <= 0 || secs > mostReuseSecs) {
			bad("is "+quoted+", not an age", `write "7d" or "12h", at most "30d", or "off"`)
		}
	case "grant":
		if !variableName().MatchString(strings.TrimSuffix(x, "*")) {
			bad("names "+quoted+", which is not a variable", "write letters, digits and _, or a beginning and *")
		}
	case "skill":
		if !skillName().MatchString(x) {
			bad("names "+quoted+", which is not a skill", "write the name of a file or folder in .forge/skills/, without its ending")
		}
	case "abspath":
		if !filepath.IsAbs(x) && !strings.HasPrefix(x, "~/") {
			bad("is "+quoted+", not an absolute path", "begin it with / or ~/")
		}
	case "host":
		if !hostName().MatchString(x) {
			bad("is "+quoted+", not a host", `write "llm.example.com" or "llm.example.com:8443"`)
		}
	case "reach":
		if _, err := egress.ParseRule(x); err != nil {
			bad("is no host: "+err.Error(), `write "packages.example.com", "*.example.org:443" or "192.0.2.1:8080"`)
		}
	case "url":
		if u, err := url.Parse(x); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			bad("is "+quoted+", not an address", `write such as "https://host/v1"`)
		} else if u.User != nil {
			fix := "write the address alone"
			if path[0] == "llm" {
				fix += ", and name the key's variable in llm.api_key_env"
			}
			bad("holds a user or password", fix)
		}
	case "branch":
		if !branchName().MatchString(x) || strings.Contains(x, "..") || strings.Contains(x, "//") || strings.HasSuffix(x, ".lock") || strings.HasSuffix(x, "/") {
			bad("is "+quoted+", which is no name of a branch", `write such as "forge/landed"`)
		}
	case "ownerrepo":
		if !groupRepo().MatchString(x) || strings.Contains(x, "..") {
			bad("is "+quoted+", not a repository", `write owner/name`)
		}
	case "webhook":
		if u, err := url.Parse(x); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			bad("is not an address", `write such as "https://hooks.example.com/forge"`) // it may hold a secret, so it is not shown
		}
	case "checkpointtype":
		if !policyName().MatchString(x) {
			bad("names "+quoted+", which is no type of checkpoint", `write small letters, digits, _ and -, a letter first, such as "release-notes"`)
		}
	case "specialist":
		b.checkSpecialistName(x, path)
	case "preset": // once the project's own are known: checkPolicyWords
	default:
		if words := strings.Split(rule, "|"); !slices.Contains(words, x) {
			bad("is "+quoted, suggest(x, words))
		}
	}
}

func orWords(what, otherwise string) string {
	if what == "" {
		return otherwise
	}
	return what
}

// nameGlob compiles a glob over phase names, which have no separators.
func nameGlob(one string) (*glob.Pattern, error) {
	switch {
	case one == "":
		return nil, fmt.Errorf("it is empty")
	case len(one) > maxGlobBytes:
		return nil, fmt.Errorf("it is longer than %d bytes", maxGlobBytes)
	}
	g, err := glob.Compile(one)
	if err != nil {
		return nil, fmt.Errorf("compile %q: %s", text.Clip(one, mostQuoted), strings.TrimPrefix(err.Error(), "glob: "))
	}
	return g, nil
}

// contextWindow is the window that a share is taken of: what the models in use
// offer at least, since no agent reports its own.
const contextWindow = 200_000

// contextTokens reads a context limit; 0 = none.
func contextTokens(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		n, err := strconv.ParseInt(share, 10, 64)
		if err != nil || n < 1 || n > 100 {
			return 0, fmt.Errorf("%q is not a share", text)
		}
		return contextWindow * n / 100, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a number of tokens", text)
	}
	return n, nil
}

// reuseOff is the word of verify.reuse for never.
const reuseOff = "off"

const mostReuseSecs = 30 * 24 * 60 * 60

// reuseSecs reads verify.reuse: "7d" or a time such as "12h". Whatever else is
// said is never.
func reuseSecs(text string) int64 {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0
		}
		return int64(n) * 24 * 60 * 60
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return int64(d / time.Second)
}

// checkTexts holds a rule against each text of a list; "some" is about the list.
func (b *binder) checkTexts(rule string, list, path []string) {
	if rule == "some" && len(list) == 0 {
		b.problem(path, dotted(path)+" is an empty list", "name at least one, or remove the key")
	}
	for i, one := range list {
		b.checkText(rule, one, append(append([]string{}, path...), element(i)))
	}
}
