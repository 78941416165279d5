package runs

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"forge/internal/git"
	"forge/internal/text"
	"forge/internal/work"
)

// workspaceFile is what a job has to remember.
const workspaceFile = work.JobDir + "/workspace.md"

// feedbackHeading is the part of it that holds what people asked for.
const feedbackHeading = "Review Feedback"

// KeepFeedback is a commit that holds what people said of a job in its workspace.md,
// with its tree: commit itself where that holds it all. A file that is no ordinary
// one, or too large, is left alone.
func (t Todos) KeepFeedback(ctx context.Context, commit string, said []work.JobFeedback, ref string) (kept, tree string, err error) {
	data, err := t.repo.File(ctx, commit, workspaceFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, git.ErrNotText), errors.As(err, new(*git.TooLargeError)):
		return commit, "", nil
	case err != nil:
		return "", "", err
	}
	now := withFeedback(string(data), said)
	if now == string(data) {
		return commit, "", nil
	}
	kept, err = t.repo.WithFiles(ctx, commit, map[string][]byte{workspaceFile: []byte(now)}, "feedback kept in "+workspaceFile+"\n", ref)
	if err != nil {
		return "", "", err
	}
	tree, err = t.repo.TreeOf(ctx, kept)
	return kept, tree, err
}

// spoken are the words of a text, without the marks of a quotation.
func spoken(words string) string {
	fields := slices.DeleteFunc(strings.Fields(text.Plain(words)), func(w string) bool { return strings.Trim(w, ">") == "" })
	return strings.Join(fields, " ")
}

// withFeedback adds to a workspace what people said and what is not in it, under its
// heading, oldest first. What the agent wrote down in the same words is not added.
func withFeedback(workspace string, said []work.JobFeedback) string {
	var missing []string
	words := spoken(workspace)
	for _, f := range said {
		if comment := spoken(f.Comment); comment == "" || strings.Contains(words, comment) {
			continue
		}
		entry := "- " + text.PlainLine(f.By) + ", after phase " + text.PlainLine(f.Phase) + ":\n"
		for _, line := range strings.Split(strings.TrimSpace(text.Plain(f.Comment)), "\n") {
			entry += strings.TrimRight("  > "+line, " ") + "\n"
		}
		missing = append(missing, entry)
	}
	if len(missing) == 0 {
		return workspace
	}
	lines := strings.SplitAfter(workspace, "\n")
	at := slices.IndexFunc(lines, func(line string) bool {
		title := strings.TrimSpace(line)
		return strings.HasPrefix(title, "#") && strings.EqualFold(strings.TrimSpace(strings.TrimLeft(title, "#")), feedbackHeading)
	})
	if at < 0 {
		if workspace = strings.TrimRight(workspace, "\n"); workspace != "" {
			workspace += "\n\n"
		}
		return workspace + "## " + feedbackHeading + "\n\n" + strings.Join(missing, "")
	}
	// Below what is there already, before the next heading.
	end := at + 1
	for end < len(lines) && !strings.HasPrefix(lines[end], "#") {
		end++
	}
	before := strings.TrimRight(strings.Join(lines[:end], ""), "\n")
	gap := "\n"
	if end == at+1 || strings.TrimSpace(strings.Join(lines[at+1:end], "")) == "" {
		gap = "\n\n"
	}
	after := strings.Join(lines[end:], "")
	if after != "" {
		after = "\n" + after
	}
	return before + gap + strings.Join(missing, "") + after
}
