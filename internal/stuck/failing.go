package stuck

import (
	"regexp"
	"slices"
	"strings"
)

// testOutput is how a test runner names what failed, and how one sees that it ran.
type testOutput struct {
	failed func() *regexp.Regexp // its first group is the name
	ran    func() *regexp.Regexp
}

var testOutputs = []testOutput{
	{ // go test
		lazy(`(?m)^\s*--- FAIL: (\S+)|^FAIL\s+(\S+) \[(?:build|setup) failed\]`),
		lazy(`(?m)^(?:ok|FAIL|---) ?\s*\S+\s+.*\d|^PASS$|^\? .*\[no test files\]`),
	},
	{lazy(`(?m)^(?:FAILED|ERROR) (\S+::\S+|\S+\.py)`), lazy(`(?m)^=*\s*(?:\d+ \w+, )*\d+ (?:passed|failed|errors?)\b.* in `)},            // pytest
	{lazy(`(?m)^(?:FAIL|ERROR): (\S+(?: \([\w.]+\))?)`), lazy(`(?m)^Ran \d+ tests? in `)},                                                // unittest
	{lazy(`(?m)^\s*not ok \d+ -? ?(.*?)\s*$`), lazy(`(?m)^(?:TAP version \d+|1\.\.\d+|# tests \d+)\s*$`)},                                // TAP, node:test, bats
	{lazy(`(?m)^\s*(?:●|✕|×|FAIL) +(.+? [›>] .+?|.+?)(?: \(?\d+ ?m?s\)?)?\s*$`), lazy(`(?m)^\s*Tests:? +.*\d+ (?:passed|failed|total)`)}, // jest, vitest
	{lazy(`(?m)^test (\S+) \.\.\. FAILED`), lazy(`(?m)^test result: `)},                                                                  // cargo test
	{lazy(`(?m)^\s+\d+\) (.+?):?\s*$`), lazy(`(?m)^\s+\d+ (?:passing|failing)\b`)},                                                       // mocha
	{lazy(`(?m)^rspec (\S+)`), lazy(`(?m)^\d+ examples?, \d+ failures?`)},                                                                // RSpec
	{lazy(`(?m)^\d+\) (\S+::\S+)`), lazy(`(?m)^(?:OK \(\d+ tests?|Tests: \d+)`)},                                                         // PHPUnit
}

// Failing reads from the output of a command which tests failed. ran is false
// where it shows no runner that is known, or where the command failed and no
// test is named: then nobody knows.
func Failing(output string, failed bool) (names []string, ran bool) {
	for _, o := range testOutputs {
		if !o.ran().MatchString(output) {
			continue
		}
		ran = true
		for _, m := range o.failed().FindAllStringSubmatch(output, -1) {
			for _, name := range m[1:] {
				if name = strings.TrimSpace(name); name != "" {
					names = append(names, Clip(name))
				}
			}
		}
	}
	if failed && len(names) == 0 {
		return nil, false
	}
	slices.Sort(names)
	return slices.Compact(names), ran
}
