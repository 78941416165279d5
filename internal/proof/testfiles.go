package proof

import (
	"path"
	"strings"
)

// IsTestFile tells by its path whether a file belongs to the tests, by the
// conventions of the common languages. It may claim too much (a helper in a
// test folder is a test file), never too little on purpose.
func IsTestFile(file string) bool {
	file = path.Clean(file)
	for _, dir := range strings.Split(path.Dir(file), "/") {
		if testFolders[strings.ToLower(dir)] {
			return true
		}
	}
	return isTestName(path.Base(file))
}

// isTestName goes by the name alone.
func isTestName(name string) bool {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	match, known := testNames[ext]
	return known && match(stem)
}

var testFolders = map[string]bool{
	"test": true, "tests": true, "__tests__": true, "__snapshots__": true, "__mocks__": true, "testdata": true, "spec": true,
	"specs": true, "e2e": true, "cypress": true, "androidtest": true, "unittests": true, "integration_tests": true,
	"integration-tests": true, "src_test": true, "testing": true, "testcases": true, "fixtures": true,
}

// testNames tells by the stem of a name, by ending.
var testNames = map[string]func(stem string) bool{
	".go": func(s string) bool { return strings.HasSuffix(s, "_test") },
	".py": func(s string) bool {
		return strings.HasPrefix(s, "test_") || strings.HasSuffix(s, "_test") || s == "conftest" || s == "tests"
	},
	".pyi": func(s string) bool { return strings.HasPrefix(s, "test_") },
	".rb": func(s string) bool {
		return strings.HasSuffix(s, "_spec") || strings.HasSuffix(s, "_test") || strings.HasPrefix(s, "test_")
	},
	".rs": func(s string) bool {
		return s == "tests" || strings.HasSuffix(s, "_test") || strings.HasSuffix(s, "_tests")
	},
	".js":      scriptTest,
	".jsx":     scriptTest,
	".mjs":     scriptTest,
	".cjs":     scriptTest,
	".ts":      scriptTest,
	".tsx":     scriptTest,
	".mts":     scriptTest,
	".cts":     scriptTest,
	".vue":     scriptTest,
	".svelte":  scriptTest,
	".snap":    func(string) bool { return true },
	".feature": func(string) bool { return true },
	".bats":    func(string) bool { return true },
	".java":    classTest,
	".kt":      classTest,
	".kts":     classTest,
	".scala":   classTest,
	".groovy":  classTest,
	".cs":      classTest,
	".fs":      classTest,
	".vb":      classTest,
	".swift":   classTest,
	".php":     classTest,
	".m":       classTest,
	".c":       nativeTest,
	".cc":      nativeTest,
	".cpp":     nativeTest,
	".cxx":     nativeTest,
	".h":       nativeTest,
	".hpp":     nativeTest,
	".zig":     nativeTest,
	".ex":      func(s string) bool { return strings.HasSuffix(s, "_test") },
	".exs":     func(s string) bool { return strings.HasSuffix(s, "_test") || s == "test_helper" },
	".erl":     func(s string) bool { return strings.HasSuffix(s, "_SUITE") || strings.HasSuffix(s, "_tests") },
	".clj":     func(s string) bool { return strings.HasSuffix(s, "_test") },
	".hs":      func(s string) bool { return strings.HasSuffix(s, "Spec") || strings.HasSuffix(s, "Test") },
	".dart":    func(s string) bool { return strings.HasSuffix(s, "_test") },
	".lua":     func(s string) bool { return strings.HasSuffix(s, "_spec") || strings.HasSuffix(s, "_test") },
	".jl":      func(s string) bool { return s == "runtests" || strings.HasPrefix(s, "test_") },
	".r":       rTest,
	".R":       rTest,
	".pl":      func(s string) bool { return strings.HasPrefix(s, "test_") },
	".t":       func(string) bool { return true },
	".sh": func(s string) bool {
		return strings.HasPrefix(s, "test_") || strings.HasPrefix(s, "test-") || strings.HasSuffix(s, "_test") || s == "test"
	},
}

func scriptTest(s string) bool {
	return strings.HasSuffix(s, ".test") || strings.HasSuffix(s, ".spec") || strings.HasSuffix(s, ".cy") || strings.HasSuffix(s, ".e2e") ||
		strings.HasSuffix(s, "_test") || strings.HasSuffix(s, "_spec") || strings.HasSuffix(s, "-test") || strings.HasPrefix(s, "test-") || s == "test" || s == "tests"
}

func classTest(s string) bool {
	for _, end := range []string{"Test", "Tests", "TestCase", "Spec", "Specs", "IT"} {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return strings.HasPrefix(s, "Test") && len(s) > 4 && s[4] >= 'A' && s[4] <= 'Z'
}

func nativeTest(s string) bool {
	lower := strings.ToLower(s)
	return strings.HasPrefix(lower, "test_") || strings.HasSuffix(lower, "_test") || strings.HasSuffix(lower, "_tests") ||
		strings.HasSuffix(lower, "_unittest") || lower == "test" || lower == "tests"
}

func rTest(s string) bool { return strings.HasPrefix(s, "test-") || strings.HasPrefix(s, "test_") }
