package changereview

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"forge/internal/work"
)

// SARIF 2.1.0 (OASIS), as far as a review has something to say. Lists that the
// standard wants are never null.
type (
	SARIFLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Automation  sarifAutomation   `json:"automationDetails"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
		Properties  map[string]any    `json:"properties"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string            `json:"id"`
		Short   sarifMessage      `json:"shortDescription"`
		Default map[string]string `json:"defaultConfiguration"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifAutomation struct {
		ID string `json:"id"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		ExitCode      int                 `json:"exitCode"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   map[string]any    `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
		EndLine   int `json:"endLine,omitempty"`
	}
)

const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// SARIF is a result for code scanning, of a Forge of a version whose process
// ends with exitCode. A rule is what found it: one of Forge's own, or a reviewer.
func SARIF(res Result, version string, exitCode int) SARIFLog {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "Forge", Version: version, Rules: []sarifRule{}}},
		Automation: sarifAutomation{ID: "forge-review/"}, Results: []sarifResult{}, ColumnKind: "unicodeCodePoints",
		Properties: map[string]any{"verdict": string(res.Verdict), "base": res.Base.Commit, "unreviewed": res.Unreviewed, "merged": res.Merged, "leftOut": res.LeftOut},
	}
	index := map[string]int{}
	rule := func(id, about string) {
		if _, there := index[id]; !there {
			index[id] = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: id, Short: sarifMessage{about}, Default: map[string]string{"level": "warning"}})
		}
	}
	for _, s := range res.Reviewers {
		rule("review/"+s.Name, "Found by the reviewer "+s.Name)
	}
	for _, f := range slices.Concat(res.Own, res.Findings) {
		id := "review/" + f.Specialist
		if f.Rule != "" {
			id = "forge/" + f.Rule
			rule(id, "Found by Forge itself: "+f.Rule)
		}
		rule(id, "Found by the reviewer "+f.Specialist)
		run.Results = append(run.Results, sarifFinding(f, id, index[id]))
	}
	run.Invocations = []sarifInvocation{{
		Successful: res.Verdict != work.VerdictUnknown, ExitCode: exitCode, Notifications: sarifNotes(res),
	}}
	return SARIFLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}}
}

// sarifNotes say what a reader of results alone would miss: what is unknown.
func sarifNotes(res Result) []sarifNotification {
	out := []sarifNotification{}
	for _, s := range res.Reviewers {
		if s.Verdict != work.VerdictUnknown {
			continue
		}
		level := "warning"
		if s.Gating {
			level = "error"
		}
		out = append(out, sarifNotification{level, sarifMessage{sarifText(fmt.Sprintf("The reviewer %s gave no usable answer: %s", s.Name, s.Why))}})
	}
	for _, name := range res.Unreviewed {
		out = append(out, sarifNotification{"warning", sarifMessage{sarifText("Not reviewed: " + name)}})
	}
	return out
}

func sarifFinding(f Finding, rule string, index int) sarifResult {
	text := f.Issue
	if many := f.StandsFor(); many != "" {
		text += " (" + many + ")"
	}
	for _, more := range []struct{ name, text string }{{"Leads to", f.Failure}, {"Suggested", f.Suggestion}, {"To see it", f.Repro}} {
		if more.text != "" {
			text += "\n\n" + more.name + ": " + more.text
		}
	}
	path := f.File
	if strings.HasPrefix(path, `"`) {
		if plain, err := strconv.Unquote(path); err == nil {
			path = plain
		}
	}
	at := sarifPhysical{Artifact: sarifArtifact{URI: (&url.URL{Path: path}).String(), Base: "%SRCROOT%"}}
	if f.Line > 0 {
		at.Region = &sarifRegion{StartLine: f.Line, EndLine: f.EndLine}
	}
	// Lines move; what is said of which file mostly stays.
	sum := sha256.Sum256([]byte(rule + "\x00" + f.File + "\x00" + strings.Join(strings.Fields(strings.ToLower(f.Issue)), " ")))
	return sarifResult{
		RuleID: rule, RuleIndex: index, Level: sarifLevel(f), Message: sarifMessage{sarifText(text)}, Locations: []sarifLocation{{at}},
		Fingerprints: map[string]string{"forgeFinding/v1": hex.EncodeToString(sum[:16])},
		Properties:   map[string]any{"severity": string(f.Severity), "gating": f.Gating, "also": append([]string{}, f.Also...), "merged": f.Merged},
	}
}

func sarifLevel(f Finding) string {
	switch {
	case f.Severity == work.SeverityMinor:
		return "note"
	case f.Severity == work.SeverityMajor && !f.Gating:
		return "warning"
	}
	return "error"
}

// sarifText keeps text from being a link, which brackets make of it in a
// message (3.11.6 of the standard).
func sarifText(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(text)
}
