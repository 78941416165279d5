package stuck

import (
	"regexp"
	"slices"
	"strings"

	"forge/internal/text"
)

// testOutput is how a test runner names what failed, and how one sees that it ran.
type testOutput struct {
	failed func() *regexp.Regexp // its first group is the name
	ran    func() *regexp.Regexp
}

var testOutputs = []testOutput{
	{ // go test
		text.Lazy(`(?m)^\s*--- FAIL: (\S+)|^FAIL\s+(\S+) \[(?:build|setup) failed\]`),
		text.Lazy(`(?m)^(?:ok|FAIL|---) ?\s*\S+\s+.*\d|^PASS$|^\? .*\[no test files\]`),
	},
	{text.Lazy(`(?m)^(?:FAILED|ERROR) (\S+::\S+|\S+\.py)`), text.Lazy(`(?m)^=*\s*(?:\d+ \w+, )*\d+ (?:passed|failed|errors?)\b.* in `)},            // pytest
	{text.Lazy(`(?m)^(?:FAIL|ERROR): (\S+(?: \([\w.]+\))?)`), text.Lazy(`(?m)^Ran \d+ tests? in `)},                                                // unittest
	{text.Lazy(`(?m)^\s*not ok \d+ -? ?(.*?)\s*$`), text.Lazy(`(?m)^(?:TAP version \d+|1\.\.\d+|# tests \d+)\s*$`)},                                // TAP, node:test, bats
	{text.Lazy(`(?m)^\s*(?:●|✕|×|FAIL) +(.+? [›>] .+?|.+?)(?: \(?\d+ ?m?s\)?)?\s*$`), text.Lazy(`(?m)^\s*Tests:? +.*\d+ (?:passed|failed|total)`)}, // jest, vitest
	{text.Lazy(`(?m)^test (\S+) \.\.\. FAILED`), text.Lazy(`(?m)^test result: `)},                                                                  // cargo test
	{text.Lazy(`(?m)^\s+\d+\) (.+?):?\s*$`), text.Lazy(`(?m)^\s+\d+ (?:passing|failing)\b`)},                                                       // mocha
	{text.Lazy(`(?m)^rspec (\S+)`), text.Lazy(`(?m)^\d+ examples?, \d+ failures?`)},                                                                // RSpec
	{text.Lazy(`(?m)^\d+\) (\S+::\S+)`), text.Lazy(`(?m)^(?:OK \(\d+ tests?|Tests: \d+)`)},                                                         // PHPUnit
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
