package proof

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	texts "forge/internal/text"
)

// runnerName finds what no honest source spells in pieces.
var runnerName = expr(`\b(` + testVariables + `|` + runnerModules + `|_?pytest\w*|vitest|worker_threads|mainModule|__coverage__)\b|-test\.`)

// hiddenNames finds names of test runners that the source puts together from
// pieces, turns round or decodes, none of which holds the name: by line.
func hiddenNames(s source) map[int]string {
	s = s.code()
	found := map[int]string{}
	consts := s.textConstants()
	for i := range s.tokens {
		for _, whole := range s.assembled(i, consts) {
			if name := seam(whole); name != "" {
				found[int(s.tokens[i].line)] = name
			}
		}
		if name := s.decoded(i); name != "" {
			found[int(s.tokens[i].line)] = name
		}
	}
	return found
}

// seam is a runner's name in the pieces put together that none of them holds.
func seam(pieces []string) string {
	for _, between := range []string{"", "_", ".", "-", "/", `\`} {
		name := runnerName().FindString(strings.Join(pieces, between))
		if name != "" && !slices.ContainsFunc(pieces, func(p string) bool { return strings.Contains(p, name) }) {
			return name
		}
	}
	return ""
}

// textConstants are names that the file gives a text to, once.
func (s *source) textConstants() map[string]string {
	values, given := map[string]string{}, map[string]int{}
	for i := range s.tokens {
		if w := s.word(i); w == "" || !isWordByte(w[0]) || s.isText(i) {
			continue
		}
		at := i + 1
		if s.word(at) == ":" {
			at++
		}
		if s.word(at) != "=" || s.word(at+1) == "=" {
			continue
		}
		given[s.word(i)]++
		if s.isText(at+1) && s.word(at+2) != "+" && s.word(at+2) != "." {
			values[s.word(i)] = s.inner(s.tokens[at+1])
		}
	}
	for name, times := range given {
		if times > 1 {
			delete(values, name)
		}
	}
	return values
}

// piece is the text that token i stands for.
func (s *source) piece(i int, consts map[string]string) (string, bool) {
	if s.isText(i) {
		return s.inner(s.tokens[i]), true
	}
	value, ok := consts[s.word(i)]
	return value, ok
}

// assembled are the lists of pieces, two or more, that begin at token i: a sum
// of texts, or a list of them beside a word that joins.
func (s *source) assembled(i int, consts map[string]string) [][]string {
	var all [][]string
	if pieces, _ := s.sum(i, consts); len(pieces) > 1 {
		all = append(all, pieces)
	}
	if w := s.word(i); s.isText(i) || w != "[" && w != "(" && w != "{" {
		return all
	}
	var list []string
	at := i + 1
	for {
		pieces, next := s.sum(at, consts)
		if len(pieces) == 0 {
			return all
		}
		list = append(list, strings.Join(pieces, ""))
		if at = next; s.word(at) != "," {
			break
		}
		at++
	}
	switch s.word(at) {
	case "]", ")", "}":
	default:
		return all
	}
	for near := max(0, i-8); near <= at+3; near++ {
		switch s.word(near) {
		case "join", "Join", "implode", "concat", "fsum", "reduce":
			return append(all, list)
		}
	}
	return all
}

// sum reads texts that are added up from token i on, and says where it ends.
func (s *source) sum(i int, consts map[string]string) (pieces []string, end int) {
	for {
		p, ok := s.piece(i, consts)
		if !ok {
			return pieces, i
		}
		pieces = append(pieces, p)
		switch i++; {
		case s.word(i) == "+", s.word(i) == "." && s.lang == "php":
			i++
		case s.isText(i) && (s.lang == "python" || s.lang == "ruby" || s.lang == "c" || s.lang == "shell"):
		default:
			return pieces, i
		}
	}
}

var (
	turnsRound = expr(`revers|\[::-1\]|strrev`)
	decodes    = expr(`atob|b64|base64|fromhex|unhexlify|Buffer|DecodeString|hex2bin|fromCharCode|\bchr\b|unpack|pack`)
	numbers    = expr(`^\d{2,3}$`)
)

// decoded is a runner's name in a text that the line turns round or decodes, or
// in a list of the codes of its letters.
func (s *source) decoded(i int) string {
	line := lineText(s.src, int(s.tokens[i].line))
	if !s.isText(i) {
		return s.letters(i, line)
	}
	in := s.inner(s.tokens[i])
	if len(in) < 4 || len(in) > 200 {
		return ""
	}
	var readings []string
	if turnsRound().MatchString(line) {
		turned := []rune(in)
		slices.Reverse(turned)
		readings = append(readings, string(turned))
	}
	if decodes().MatchString(line) {
		for _, read := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawURLEncoding.DecodeString} {
			if plain, err := read(in); err == nil {
				readings = append(readings, string(plain))
			}
		}
	}
	return nameIn(readings...)
}

// letters reads a list of numbers as the codes of letters.
func (s *source) letters(i int, line string) string {
	if w := s.word(i); w != "[" && w != "(" && w != "{" || !decodes().MatchString(line) {
		return ""
	}
	var b strings.Builder
	for at := i + 1; numbers().MatchString(s.word(at)); at += 2 {
		code, _ := strconv.Atoi(s.word(at)) // two or three digits
		b.WriteByte(byte(code))
		if s.word(at+1) != "," {
			break
		}
	}
	return nameIn(b.String())
}

func nameIn(readings ...string) string {
	for _, one := range readings {
		if name := runnerName().FindString(one); name != "" {
			return name
		}
	}
	return ""
}

// fileCall is a call that looks at the file system, up to its first text.
var fileCall = texts.Lazy(`\b(exists|existsSync|is_dir|is_file|isdir|isfile|file_exists|stat|lstat|statSync|Stat|Lstat|access|accessSync|glob|Glob|open|fopen|Open|ReadFile|ReadDir|readFileSync|readdirSync|read_text|read_to_string|file_get_contents|listdir|scandir|walk|WalkDir|iterdir|getline|metadata|include_str!|include_bytes!|require|include|import_module|File|Dir|Path|joinpath|join|resolve)\b[^"\n;]{0,60}"([^"\n]+)"`)

// listsPath is a call that tells whether a path is there, or what it holds.
var listsPath = expr(`\b(exists|existsSync|is_dir|is_file|isdir|isfile|file_exists|stat|lstat|statSync|Stat|Lstat|access|accessSync|glob|Glob|open|fopen|Open|ReadFile|ReadDir|readFileSync|readdirSync|read_text|read_to_string|file_get_contents|listdir|scandir|walk|WalkDir|iterdir|getline|include_str!|include_bytes!)\b`)

// looksForTests finds where product looks in the file system for tests, or for
// its own source: by where the name stands in readable text.
func looksForTests(file, lang string, readable []byte) [][]int {
	var out [][]int
	for _, at := range fileCall().FindAllSubmatchIndex(readable, -1) {
		name := strings.TrimPrefix(string(readable[at[4]:at[5]]), "./")
		line := lineText(readable, lineAt(readable, at[4]))
		if !listsPath().MatchString(line) && !strings.Contains(name, "*") {
			continue
		}
		if testPath(name) || ownSource(file, lang, name) {
			out = append(out, []int{at[4], at[5]})
		}
	}
	for _, at := range pathCall().FindAllSubmatchIndex(readable, -1) {
		if name := string(readable[at[2]:at[3]]); testPath(name) || ownSource(file, lang, name) {
			out = append(out, []int{at[2], at[3]})
		}
	}
	return out
}

// actsOnPath is a call that starts a program, or changes a file.
var actsOnPath = expr(`\b(system|popen|exec[lv]\w*|posix_spawn\w*|spawn\w*|Popen|check_call|check_output|subprocess|Command|shell_exec|passthru|proc_open|copy\w*|rename\w*|unlink\w*|remove\w*|truncate\w*|chmod\w*|symlink\w*|write_text|write_bytes|writeFile\w*|WriteFile|fs::write|file_put_contents|fopen)\s*\(`)

var literals = expr(`"([^"\n]+)"`)

// actsOnTests finds where product hands a test, or the program that is built of
// one, to what starts a program or changes a file: the next test of the same
// command may be what it writes over.
func actsOnTests(readable []byte) [][]int {
	var out [][]int
	for _, at := range literals().FindAllSubmatchIndex(readable, -1) {
		words := strings.FieldsFunc(string(readable[at[2]:at[3]]), func(r rune) bool { return strings.ContainsRune(" \t;&|<>()'", r) })
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "/") && (testPath(w) || testProgram(w)) }) {
			continue
		}
		if actsOnPath().MatchString(lineText(readable, lineAt(readable, at[2]))) {
			out = append(out, []int{at[2], at[3]})
		}
	}
	return out
}

// testProgram is true for the path of what is built of a test, by its name.
func testProgram(file string) bool {
	base := strings.ToLower(file[strings.LastIndexByte(file, '/')+1:])
	return strings.HasPrefix(base, "test_") || strings.HasPrefix(base, "test-") || strings.HasSuffix(base, "_test") || strings.HasSuffix(base, "_tests") || strings.HasSuffix(base, ".test")
}

// pathCall asks a path that ends with a text whether it is there.
var pathCall = expr(`"([^"\n]+)"\s*\)*\s*\.(is_dir|is_file|exists|stat|glob|rglob|iterdir|read_text|read_bytes|open)\s*\(`)

// ownPrefix is true for a line that chooses variables by a prefix of the
// program's own.
func ownPrefix(line string) bool {
	found := prefixAsked().FindStringSubmatch(line)
	return found != nil && !slices.Contains([]string{"NODE_", "CARGO_", "RUST_"}, found[1]) && !runnerName().MatchString(found[1]+"x") && !runnerName().MatchString(strings.TrimSuffix(found[1], "_"))
}

var prefixAsked = expr(`(?i:starts_?with\??|hasprefix|\^|/)\s*\(?\s*["^]?([A-Z][A-Z0-9]{2,}_)["/]`)

// testPath is true for the name of a test file, of a folder of tests, of a
// pattern of them, or of a file that a runner leaves where it builds.
func testPath(name string) bool {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	for i, part := range parts {
		switch strings.ToLower(part) {
		case "test", "tests", "__tests__", "spec", "specs", "unittests":
			if i == 0 || i+1 < len(parts) {
				return true
			}
		}
		if bare := strings.Trim(part, "*"); bare != part && isTestName("x"+part[strings.LastIndexByte(part, '*')+1:]) || bare == part && isTestName(part) {
			return true
		}
	}
	return strings.HasPrefix(name, "CTest") || strings.HasSuffix(name, "conftest.py")
}

// ownSource is true for the file that the text stands in, by its name.
func ownSource(file, lang, name string) bool {
	return lang != "shell" && language(name) == lang && (file == name || strings.HasSuffix(file, "/"+name) || sameUnit(file, name))
}

// sameUnit says that one is the header of the other.
func sameUnit(file, name string) bool {
	stem := func(p string) string { return strings.TrimSuffix(p, "."+p[strings.LastIndexByte(p, '.')+1:]) }
	return strings.HasSuffix(name, ".h") && (stem(file) == stem(name) || strings.HasSuffix(stem(file), "/"+stem(name)))
}

var (
	macroOf    = expr(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)\(`)
	prototypes = expr(`(?m)^[A-Za-z_][\w \t*]*[ \t*](\w+)[ \t]*\([^;{}]*\)[ \t]*;`)
)

// macroTwins are the lines of macros that a header gives the name of a function
// which it declares as well: who includes it does not call the function.
func macroTwins(lang string, src []byte) []int {
	if lang != "c" {
		return nil
	}
	declared := map[string]bool{}
	for _, found := range prototypes().FindAllSubmatch(src, -1) {
		declared[string(found[1])] = true
	}
	var out []int
	for _, at := range macroOf().FindAllSubmatchIndex(src, -1) {
		if declared[string(src[at[2]:at[3]])] {
			out = append(out, lineAt(src, at[2]))
		}
	}
	return out
}
