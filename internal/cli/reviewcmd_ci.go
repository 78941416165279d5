package cli

import (
	"errors"
	"fmt"
	"os"

	"forge/internal/changereview"
	"forge/internal/report"
)

// reportReview writes annotations and the job summary where GitHub or Gitea
// Actions run forge. What cannot be written is said and changes nothing.
func (a *App) reportReview(res changereview.Result) {
	if !a.env().InActions() {
		return
	}
	fmt.Fprint(a.Stderr, report.ReviewAnnotations(res))
	if err := appendSummary(a.getenv("GITHUB_STEP_SUMMARY"), changereview.Markdown(res).String()+"\n"); err != nil {
		a.log.Warn("write the job summary", "err", err)
	}
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
