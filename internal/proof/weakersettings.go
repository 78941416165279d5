package proof

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	texts "forge/internal/text"
)

var (
	thresholdKey = expr(`(?i)(fail[-_]?under|threshold|min[-_]?coverage|minimum[-_]?coverage|statements|branches|functions|lines|covered|target|minmsi|msi)$`)
	ceilingKey   = expr(`(?i)(max[-_]?warnings|max[-_]?complexity|max[-_]?line|timeout|time_limit|retries|retry|reruns|flaky|max[-_]?failures)`)
	onSwitch     = expr(`(?i)(strict|warn_unreachable|disallow_|no_implicit|noImplicit|noUnused|check_untyped|failOn|fail_on|error|bail|xfail_strict|checkJs|stopOn|forbidOnly|forbidPending|fail_fast|beStrict|denyWarnings)`)
	offSwitch    = expr(`(?i)(passWithNoTests|allow[-_]?fail|continue-on-error|ignore_missing|ignore_errors|skipLibCheck|allow_red|soft_fail|optional|isolatedModules|dangerouslyIgnore|allow_failure)`)
	skipKey      = expr(`(?i)(ignore|exclude|omit|skip|disable|deselect|norecursedirs|per-file-ignores)`)
	collectKey   = expr(`(?i)^(testmatch|testregex|testpaths|python_files|python_functions|python_classes|roots|spec|include|files|testdir|directory|select|extend-select|enable|enabled|plugins|extends)$`)
	rule         = expr(`(?i)^("?error"?|2|deny|forbid|warn|"?warning"?|1)$`)
	looseFlags   = []string{"|| true", "||true", "|| :", "|| exit 0", "; true", "--exit-zero", "--passWithNoTests", "--pass-with-no-tests", "--ignore", "--deselect", "-k not", `-k "not`, "-k 'not", "--exclude", "--skip", "-short", "--no-verify", "continue-on-error: true", "allow_failure: true", "--allow-", "--retries", "--reruns", "set +e", "--max-warnings", "-Wno", "--cap-lints", "--testNamePattern", "--test-name-pattern", "--grep", "-m not", `-m "not`, "--lf", "--maxfail", "|| echo"}
)

type setting struct {
	key, value string
}

// looserSettings compares settings value by value, and commands line by line.
func looserSettings(p string, was, now []byte, all map[string][]byte) []Weakness {
	var out []Weakness
	if was == nil {
		return nil
	}
	if now == nil {
		if sortOf(p) == toolSort || settingsName(p) {
			return []Weakness{{KindSetting, p, 0, "the settings are gone"}}
		}
		return nil
	}
	before, after := readSettingsOf(p, was), readSettingsOf(p, now)
	for _, s := range after {
		old, had := valueOf(before, s)
		if had && old == s.value || slices.ContainsFunc(before, func(b setting) bool { return b.key == s.key && b.value == s.value }) {
			continue
		}
		if kind, what := looser(s, old, had); kind != "" {
			out = append(out, Weakness{kind, p, lineOfValue(now, s), what})
		}
	}
	for _, b := range before {
		if slices.ContainsFunc(after, func(a setting) bool { return a.key == b.key && a.value == b.value }) {
			continue
		}
		_, stays := valueOf(after, b)
		last := b.key[strings.LastIndex(b.key, ".")+1:]
		switch {
		case !stays && (thresholdKey().MatchString(last) && isNumber(b.value) || onSwitch().MatchString(last) || rule().MatchString(b.value) && strings.Contains(b.key, "rules")):
			out = append(out, Weakness{KindThreshold, p, 0, fmt.Sprintf("%s = %s is gone", b.key, texts.OneLine(b.value, mostQuoted))})
		case collectKey().MatchString(last):
			out = append(out, Weakness{KindSetting, p, 0, fmt.Sprintf("%s no longer has %q", last, texts.OneLine(b.value, mostQuoted))})
		}
	}
	return append(out, looserLines(p, was, now)...)
}

func valueOf(list []setting, s setting) (string, bool) {
	for _, one := range list {
		if one.key == s.key {
			return one.value, true
		}
	}
	return "", false
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(strings.Trim(s, "% "), 64)
	return err == nil
}

func lineOfValue(src []byte, s setting) int {
	last := s.key[strings.LastIndex(s.key, ".")+1:]
	for n, line := range strings.Split(string(src), "\n") {
		if strings.Contains(line, last) && strings.Contains(line, s.value) {
			return n + 1
		}
	}
	return 1
}

// looser says what a new value lets pass, "" when it lets nothing pass.
func looser(s setting, old string, had bool) (kind, what string) {
	last := s.key[strings.LastIndex(s.key, ".")+1:]
	a, errA := strconv.ParseFloat(strings.Trim(old, "% "), 64)
	b, errB := strconv.ParseFloat(strings.Trim(s.value, "% "), 64)
	numbers := had && errA == nil && errB == nil
	on := func(v string) bool { v = strings.ToLower(v); return v == "true" || v == "1" || v == "yes" || v == "on" }
	switch {
	case numbers && thresholdKey().MatchString(last) && b < a, numbers && ceilingKey().MatchString(last) && b > a:
		return KindThreshold, fmt.Sprintf("%s was %s and is %s", last, old, s.value)
	case onSwitch().MatchString(last) && had && on(old) && !on(s.value):
		return KindSetting, fmt.Sprintf("%s is no longer on", last)
	case offSwitch().MatchString(last) && on(s.value):
		return KindCI, fmt.Sprintf("%s is on", last)
	case strings.Contains(s.key, "rules") && had && rule().MatchString(old) && (s.value == "off" || s.value == "0" || s.value == "warn" && old != "warn"):
		return KindSetting, fmt.Sprintf("rule %s was %s and is %s", last, old, s.value)
	case strings.Contains(s.key, "lints") && had && (s.value == "allow" || s.value == "warn" && old == "deny"):
		return KindSetting, fmt.Sprintf("%s was %s and is %s", last, old, s.value)
	case skipKey().MatchString(last):
		return KindSetting, fmt.Sprintf("%s has %q now", last, texts.OneLine(s.value, mostQuoted))
	}
	return "", ""
}

// readSettingsOf lists the values of a file with their keys.
func readSettingsOf(p string, content []byte) []setting {
	var out []setting
	visit := func(keys []string, value string) {
		out = append(out, setting{key: strings.Join(keys, "."), value: value})
	}
	switch ext := path.Ext(p); {
	case language(p) == "script":
		s := lex("script", content).code()
		for i := range s.tokens {
			if s.word(i+1) == ":" && isWordByte0(s.word(i)) {
				visit([]string{s.word(i)}, strings.Trim(string(s.bytes(s.tokens[min(i+2, len(s.tokens)-1)])), `'"`))
			}
		}
	case ext == ".xml" || strings.HasSuffix(p, ".xml.dist"):
		walkXML(content, visit)
	case ext == ".json":
		walkNumbers(content, visit)
		walkSettings(path.Base(p), content, visit)
	default:
		if ext != ".toml" || !walkTOML(content, visit) {
			walkLines(content, visit)
		}
	}
	return out
}

var jsonNumber = expr(`"([^"\n]+)"\s*:\s*(-?[\d.]+|true|false)`)

func walkNumbers(content []byte, visit func([]string, string)) {
	for _, found := range jsonNumber().FindAllSubmatch(content, -1) {
		visit([]string{string(found[1])}, string(found[2]))
	}
}

var tomlNumber = expr(`(?m)^\s*([\w.-]+)\s*=\s*(-?[\d.]+|true|false)\s*(#.*)?$`)

func walkTOML(content []byte, visit func([]string, string)) bool {
	for _, found := range tomlNumber().FindAllSubmatch(content, -1) {
		visit([]string{string(found[1])}, string(found[2]))
	}
	walkSettings("x.toml", content, visit)
	return true
}

// looserLines finds flags that let failures pass, and steps of commands that
// are gone.
func looserLines(p string, was, now []byte) []Weakness {
	var out []Weakness
	old := map[string]bool{}
	for line := range strings.Lines(string(was)) {
		old[strings.TrimSpace(line)] = true
	}
	for n, line := range strings.Split(string(now), "\n") {
		trimmed := strings.TrimSpace(line)
		if old[trimmed] || strings.HasPrefix(trimmed, "#") {
			continue
		}
		for _, flag := range looseFlags {
			if strings.Contains(line, flag) && !strings.Contains(string(was), flag) {
				out = append(out, Weakness{KindCI, p, n + 1, fmt.Sprintf("%q lets failures pass or leaves tests out", strings.TrimSpace(flag))})
				break
			}
		}
	}
	return append(append(out, lostFlags(p, was, now)...), lostSteps(p, was, now)...)
}

// strictFlag is a word by which a compiler or a runner refuses more.
var strictFlag = expr(`(?:^|[\s"'=:,\[(])(-W[\w=+-]+|-pedantic(?:-errors)?|-fsanitize=[\w,-]+|-D_FORTIFY_SOURCE=\d|--strict[\w-]*|--warnings-as-errors|--error-on-warnings|--fail-on-\w+|--fail-under=?\d*|-race)(?:$|[\s"',\])])`)

// lostFlags are strict flags that the old file gave more often.
func lostFlags(p string, was, now []byte) []Weakness {
	count := func(src []byte) map[string]int {
		out := map[string]int{}
		for _, word := range strings.Fields(string(src)) {
			if found := strictFlag().FindStringSubmatch(word); found != nil && !strings.HasPrefix(found[1], "-Wno") {
				out[found[1]]++
			}
		}
		return out
	}
	after := count(now)
	var out []Weakness
	for _, flag := range slices.Sorted(maps.Keys(count(was))) {
		if after[flag] == 0 {
			out = append(out, Weakness{KindCI, p, 0, fmt.Sprintf("%s is gone", flag)})
		}
	}
	return out
}

var stepLine = expr(`(?i)\b(go (test|vet)|pytest|unittest|jest|vitest|mocha|node --test|cargo (test|clippy|nextest)|npm (run )?(test|lint)|yarn (test|lint)|pnpm (test|lint)|ruff|mypy|eslint|tsc|flake8|pylint|golangci-lint|staticcheck|rspec|rake test|phpunit|phpstan|ctest|bats|make (test|check|lint)|tox|nox|mvn .*(test|verify)|gradlew? .*(test|check)|dotnet test|shellcheck|-race)\b`)

// lostSteps are checks that the old file ran and the new one does not.
func lostSteps(p string, was, now []byte) []Weakness {
	var out []Weakness
	for _, found := range slices.Compact(slices.Sorted(slices.Values(stepLine().FindAllString(string(was), -1)))) {
		if strings.Count(string(was), found) > strings.Count(string(now), found) {
			out = append(out, Weakness{KindCI, p, 0, fmt.Sprintf("%q is run no longer", found)})
		}
	}
	return append(out, narrowedSteps(p, was, now)...)
}

// narrowedSteps are checks that run with less than they were told before: a
// word of their line is gone.
func narrowedSteps(p string, was, now []byte) []Weakness {
	var out []Weakness
	after := strings.Split(string(now), "\n")
	for line := range strings.Lines(string(was)) {
		step := stepLine().FindString(line)
		if step == "" || slices.ContainsFunc(after, func(l string) bool { return holdsWords(l, line) }) {
			continue
		}
		at := slices.IndexFunc(after, func(l string) bool { return strings.Contains(l, step) })
		if at >= 0 {
			out = append(out, Weakness{KindCI, p, at + 1, fmt.Sprintf("%q was run, and %q is", texts.OneLine(strings.TrimSpace(line), mostQuoted), texts.OneLine(strings.TrimSpace(after[at]), mostQuoted))})
		}
	}
	return out
}

// holdsWords is true for a line with all the words of another, whatever the
// quotes and commas around them.
func holdsWords(line, of string) bool {
	words := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"',@-:[]{}", r) })
	}
	have := words(line)
	return !slices.ContainsFunc(words(of), func(w string) bool { return !slices.Contains(have, w) })
}
