package runner

import (
	"path"
	"slices"
	"strings"
)

func phpunitKind() Kind {
	return Kind{Name: "phpunit", Find: findPHPUnit, Parse: parsePHPUnit, Plant: plantPHPUnit, Own: ownPHPUnit}
}

func findPHPUnit(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		at := slices.IndexFunc(c.Words, func(w string) bool { return strings.TrimSuffix(path.Base(w), ".phar") == "phpunit" })
		if at < 0 || at > 2 {
			continue
		}
		asks = append(asks, Ask{
			Runner: "phpunit", Dir: c.Dir,
			Tests:   p.Below(c.Dir, func(f string) bool { return strings.HasSuffix(f, "Test.php") }),
			Command: phpunitAsk(c.Words, at),
		})
	}
	return merged(asks)
}

// phpunitAsk is the command of an ask for a call whose program stands at at.
func phpunitAsk(call []string, at int) string {
	words := append(slices.Clone(call[:at+1]), "--log-junit", "{out}/report", "--do-not-cache-result")
	return quoteAll(append(words, phpunitArgs(call[at+1:])...)) + " >'{out}/said'"
}

func phpunitArgs(args []string) []string {
	var keep []string
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains([]string{"-c", "--configuration", "--bootstrap", "--include-path", "--test-suffix"}, name):
			keep = append(keep, args[i])
			if !joined && i+1 < len(args) {
				i++
				keep = append(keep, args[i])
			}
		case slices.Contains([]string{"--filter", "--group", "--exclude-group", "--testsuite", "-d"}, args[i]):
			i++
		case !strings.HasPrefix(args[i], "-"):
			keep = append(keep, args[i])
		}
	}
	return keep
}

func plantPHPUnit(file string, _ []byte, word string) (string, string, bool) {
	class := capital(word) + "Test"
	text := "<?php\n\nfinal class " + class + " extends \\PHPUnit\\Framework\\TestCase\n{\n    public function test" + capital(word) + "(): void\n    {\n        $this->assertSame(0, strlen('" + word + "'));\n    }\n}\n"
	return path.Join(path.Dir(file), class+".php"), text, true
}

func parsePHPUnit(files map[string][]byte) Report {
	var r Report
	parseJUnit(files["report"], &r, func(_ junitSuite, c junitCase) (string, string) {
		return c.Class + "::" + c.Name, c.Class
	})
	return r.settle()
}
