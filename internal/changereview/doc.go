// Package changereview is the review of a change that no run made, before it is
// merged: its base, who is asked, the result as text, Markdown and SARIF.
package changereview
