package runner

import (
	"path"
	"slices"
	"strings"
)

func ctestKind() Kind {
	return Kind{Name: "ctest", Find: findCTest, Parse: parseCTest, Plant: plantCTest}
}

// findCTest builds each project of CMake with tests in a folder of its own and
// asks CTest there.
func findCTest(p *Project) []Ask {
	calls := p.Calls()
	source, command := ctestAsk(calls)
	called := slices.ContainsFunc(calls, func(c Call) bool { return slices.Contains([]string{"ctest", "cmake"}, path.Base(c.Words[0])) })
	top := path.Join(source, "CMakeLists.txt")
	if !called || !p.Has(top) {
		return nil
	}
	tests := p.Below(source, func(f string) bool {
		l, ok := languageOf(f)
		return ok && l.name == "c" && strings.Contains(strings.ToLower(f), "test")
	})
	return []Ask{{Runner: "ctest", Dir: source, Tests: append([]string{top}, tests...), Command: command}}
}

// ctestAsk is where the project of the calls is, and how it is asked there.
func ctestAsk(calls []Call) (source, command string) {
	var defines []string
	source = "."
	for _, c := range calls {
		if path.Base(c.Words[0]) == "cmake" {
			for i, w := range c.Words {
				if strings.HasPrefix(w, "-D") && w != "-D" {
					defines = append(defines, w)
				}
				if w == "-S" && i+1 < len(c.Words) {
					source = path.Join(c.Dir, c.Words[i+1])
				}
			}
		}
	}
	return source, "cmake -S . -B '{out}/build' " + quoteAll(defines) + " >'{out}/said' 2>&1 && cmake --build '{out}/build' --parallel 2 >>'{out}/said' 2>&1\n" +
		"ctest --test-dir '{out}/build' --output-junit '{out}/report' --timeout 300 >>'{out}/said' 2>&1"
}

// plantCTest adds a test that fails to the project itself.
func plantCTest(file string, sample []byte, word string) (string, string, bool) {
	if path.Base(file) != "CMakeLists.txt" {
		return "", "", false
	}
	return file, string(sample) + "\nadd_test(NAME " + word + " COMMAND ${CMAKE_COMMAND} -E false)\n", true
}

func parseCTest(files map[string][]byte) Report {
	var r Report
	parseJUnit(files["report"], &r, func(_ junitSuite, c junitCase) (string, string) { return c.Name, c.Name })
	return r.settle()
}
