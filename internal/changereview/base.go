package changereview

import (
	"context"
	"fmt"
	"strings"

	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
)

// Base is where a change begins.
type Base struct {
	Ref    string `json:"ref"`    // as it is shown
	Why    string `json:"chosen"` // what made it the base
	Tip    string `json:"tip"`    // commit that Ref names
	Commit string `json:"commit"` // where the change left Ref
}

// candidate is a revision that may be the base.
type candidate struct {
	rev, shown, why string
	must            bool // said by somebody: that it is missing is an error
}

// findBase chooses the base and finds where the change left it.
func (r *ongoing) findBase(ctx context.Context) (Base, error) {
	list, err := r.candidates(ctx)
	if err != nil {
		return Base{}, err
	}
	for i, c := range list {
		tip, err := r.repo.FindCommit(ctx, c.rev)
		if err != nil {
			return Base{}, err
		}
		if tip != "" {
			return r.leftAt(ctx, c, tip)
		}
		if c.must && (i+1 == len(list) || !list[i+1].must) {
			return Base{}, r.noBase(c)
		}
	}
	return Base{}, refusal.New("forge review --base REF names it", "nothing is found to compare with: the branch follows nothing, and there is no origin/HEAD, main or master")
}

// candidates are what may be the base, the first that exists wins.
func (r *ongoing) candidates(ctx context.Context) ([]candidate, error) {
	if ref := r.options.Base; ref != "" {
		return []candidate{{ref, ref, "--base", true}}, nil
	}
	if list := pullRequestBase(r.Env); len(list) > 0 {
		return list, nil
	}
	var out []candidate
	up := ""
	if r.options.Pull == 0 { // what is checked out says nothing of a pull request
		var err error
		if up, err = r.repo.Upstream(ctx); err != nil {
			return nil, err
		}
	}
	if up != "" {
		out = append(out, candidate{up, shortRef(up), "upstream of the branch", true})
	}
	return append(out,
		candidate{rev: "refs/remotes/origin/HEAD", shown: "origin/HEAD", why: "default branch of origin"},
		candidate{rev: "refs/remotes/origin/main", shown: "origin/main", why: "by its name"}, candidate{rev: "refs/remotes/origin/master", shown: "origin/master", why: "by its name"},
		candidate{rev: "refs/heads/main", shown: "main", why: "by its name"}, candidate{rev: "refs/heads/master", shown: "master", why: "by its name"},
	), nil
}

// pullRequestBase is what CI says of the pull request that it runs for; none
// outside of one. A branch is looked for as the remote's and then as one's own.
func pullRequestBase(env project.Env) []candidate {
	branch, why, commit := "", "", ""
	switch {
	case env.InActions():
		branch, why = env.Getenv("GITHUB_BASE_REF"), "base of the pull request, by GITHUB_BASE_REF"
	case env.Getenv("GITLAB_CI") == "true":
		branch, why = env.Getenv("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"), "target of the merge request, by CI_MERGE_REQUEST_TARGET_BRANCH_NAME"
		commit = env.Getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA")
	}
	var out []candidate
	if branch != "" {
		out = append(out, candidate{"refs/remotes/origin/" + branch, "origin/" + branch, why, true})
	}
	if commit != "" {
		out = append(out, candidate{commit, text.Short(commit), "base of the merge request, by CI_MERGE_REQUEST_DIFF_BASE_SHA", true})
	}
	if branch != "" {
		out = append(out, candidate{"refs/heads/" + branch, branch, why, true})
	}
	return out
}

func shortRef(full string) string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/"} {
		if name, ok := strings.CutPrefix(full, prefix); ok {
			return name
		}
	}
	return full
}

// leftAt is the base whose tip is known: the commit at which the change left it.
func (r *ongoing) leftAt(ctx context.Context, c candidate, tip string) (Base, error) {
	b := Base{Ref: c.shown, Why: c.why, Tip: tip}
	var err error
	if b.Commit, err = r.repo.MergeBase(ctx, tip, r.Checkout.Base.Commit); b.Commit != "" || err != nil && !r.Checkout.Base.Shallow {
		return b, err
	}
	if r.Checkout.Base.Shallow {
		return b, r.shallow(fmt.Sprintf("where the change left %s", c.shown))
	}
	return b, refusal.New("name another with --base", "%s and the checked-out commit have no history in common", c.shown)
}

// noBase says that a base which somebody named is not there.
func (r *ongoing) noBase(c candidate) error {
	if r.Checkout.Base.Shallow {
		return r.shallow(fmt.Sprintf("the base %q (%s)", c.shown, c.why))
	}
	if c.why == "--base" {
		return refusal.New("name a branch, tag or commit of this repository", "--base %q: there is no such commit", c.shown)
	}
	return refusal.New("fetch it, or name another with --base", "the base %q (%s) is not in this clone", c.shown, c.why)
}

func (r *ongoing) shallow(what string) error {
	return refusal.New(`fetch the history, with "git fetch --unshallow" or fetch-depth: 0 (GitHub, Gitea) or GIT_DEPTH: "0" (GitLab)`, "the clone is shallow and does not hold %s", what)
}
