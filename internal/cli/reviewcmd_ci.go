package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"forge/internal/changereview"
	"forge/internal/work"
)

// reportReview writes annotations and the job summary where GitHub or Gitea
// Actions run forge. What cannot be written is said and changes nothing.
func (a *App) reportReview(res changereview.Result) {
	if !a.env().InActions() {
		return
	}
	fmt.Fprint(a.Stderr, reviewAnnotations(res))
	if err := appendSummary(a.getenv("GITHUB_STEP_SUMMARY"), changereview.Markdown(res).String()+"\n"); err != nil {
		a.log.Warn("write the job summary", "err", err)
	}
}

// reviewAnnotations are findings as commands of a log line, and what is not
// known.
func reviewAnnotations(res changereview.Result) string {
	var b strings.Builder
	for _, list := range [][]changereview.Finding{res.Own, res.Findings} {
		for _, f := range list {
			level := "notice"
			switch {
			case f.Severity == work.SeverityMinor:
			case f.Gating:
				level = "error"
			default:
				level = "warning"
			}
			title := f.By()
			if f.Rule != "" {
				title = f.Rule
			}
			at := ""
			if f.EndLine > f.Line {
				at = fmt.Sprintf(",endLine=%d", f.EndLine)
			}
			text, _, _ := strings.Cut(f.Issue, "\n")
			if f.Failure != "" {
				text += "\n" + f.Failure
			}
			fmt.Fprintf(&b, "::%s file=%s,line=%d%s,title=%s::%s\n", level, escapeName(f.File), f.Line, at, escapeProperty(string(f.Severity)+": "+title), escapeData(text))
		}
	}
	for _, s := range res.Reviewers {
		if s.Verdict == work.VerdictUnknown {
			level := "warning"
			if s.Gating {
				level = "error"
			}
			fmt.Fprintf(&b, "::%s title=%s::%s\n", level, escapeProperty("review by "+s.Name+": unknown"), escapeData(s.Why))
		}
	}
	return b.String()
}

// appendSummary adds to the file that CI shows as a job's summary; "" = there
// is none.
func appendSummary(path, text string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
