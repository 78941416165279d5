package runner

import (
	"path"
	"slices"
	"strings"

	texts "forge/internal/text"
)

func junitKind() Kind {
	return Kind{Name: "junit", Find: findJUnit, Parse: parseJUnitFiles, Plant: plantJUnit}
}

// gather copies the reports that build tools leave in the tree.
const gather = "\nn=0\nfind . -path '*/%s/*.xml' -newer '{out}/began' | while read -r f; do n=$((n+1)); cp \"$f\" \"{out}/$n.xml\"; done"

// findJUnit asks the console launcher, Maven or Gradle, as the commands do.
func findJUnit(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		program := path.Base(c.Words[0])
		command := ""
		switch {
		case program == "java" && slices.ContainsFunc(c.Words, isConsoleLauncher):
			command = quoteAll(append(slices.Clone(c.Words), "--reports-dir", "{out}")) + " >'{out}/said'"
		case program == "mvn" || program == "mvnw":
			command = began + quoteAll([]string{c.Words[0], "-o", "-B", "-q", "-Dmaven.test.failure.ignore=true", "test"}) + " >'{out}/said'" + strings.Replace(gather, "%s", "surefire-reports", 1)
		case program == "gradle" || program == "gradlew":
			command = began + quoteAll([]string{c.Words[0], "--offline", "--no-daemon", "-q", "test", "--continue", "--rerun-tasks"}) + " >'{out}/said'" + strings.Replace(gather, "%s", "test-results/test", 1)
		default:
			continue
		}
		asks = append(asks, Ask{Runner: "junit", Dir: c.Dir, Command: command, Tests: p.Below(c.Dir, func(f string) bool {
			return path.Ext(f) == ".java" && strings.Contains(p.Text(f), "@Test")
		})})
	}
	return merged(asks)
}

const began = ": >'{out}/began'\n"

func isConsoleLauncher(word string) bool {
	return strings.Contains(word, "junit-platform-console") || word == "org.junit.platform.console.ConsoleLauncher"
}

var javaPackage = texts.Lazy(`(?m)^\s*package\s+[\w.]+\s*;`)

func plantJUnit(file string, sample []byte, word string) (string, string, bool) {
	class := capital(word) + "Test"
	all := "org.junit.jupiter.api."
	annotation, assertions := all+"Test", all+"Assertions"
	if strings.Contains(string(sample), "org.junit.Test") {
		annotation, assertions = "org.junit.Test", "org.junit.Assert"
	}
	text := javaPackage().FindString(string(sample)) + "\n\npublic class " + class + " {\n    @" + annotation + "\n    public void " + word + "() {\n        " +
		assertions + ".assertEquals(0, \"" + word + "\".length());\n    }\n}\n"
	return path.Join(path.Dir(file), class+".java"), text, true
}

func parseJUnitFiles(files map[string][]byte) Report {
	var r Report
	for _, name := range sortedKeys(files) {
		if path.Ext(name) == ".xml" {
			parseJUnit(files[name], &r, func(_ junitSuite, c junitCase) (string, string) { return c.Class + "." + c.Name, c.Class })
		}
	}
	return r.settle()
}
