package github

import "time"

// What GitHub tells of its objects, as far as Forge reads it. What an answer lacks,
// or says to be null, is empty.

type user struct {
	Login string `json:"login"`
}

type repository struct {
	FullName    string `json:"full_name"`
	Default     string `json:"default_branch"`
	Archived    bool   `json:"archived"`
	Size        int    `json:"size"`
	Squash      *bool  `json:"allow_squash_merge"` // said only to those who may change it
	Permissions struct {
		Push  bool `json:"push"`
		Admin bool `json:"admin"`
	} `json:"permissions"`
}

type protection struct {
	Reviews struct {
		Approvals int `json:"required_approving_review_count"`
	} `json:"required_pull_request_reviews"`
	Checks struct {
		Contexts []string `json:"contexts"`
	} `json:"required_status_checks"`
}

// tip is where a branch of a pull request is.
type tip struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo struct {
		ID int64 `json:"id"`
	} `json:"repo"`
}

type pullRequest struct {
	Number         int64      `json:"number"`
	URL            string     `json:"html_url"`
	State          string     `json:"state"`
	Title          string     `json:"title"`
	Body           string     `json:"body"`
	Draft          bool       `json:"draft"`
	Head           tip        `json:"head"`
	Base           tip        `json:"base"`
	User           user       `json:"user"`
	Updated        time.Time  `json:"updated_at"`
	Merged         bool       `json:"merged"`
	MergedAt       *time.Time `json:"merged_at"`
	MergedBy       user       `json:"merged_by"`
	MergeCommit    string     `json:"merge_commit_sha"`
	Mergeable      *bool      `json:"mergeable"` // null while GitHub computes
	MergeableState string     `json:"mergeable_state"`
}

type review struct {
	ID        int64     `json:"id"`
	User      user      `json:"user"`
	State     string    `json:"state"`
	Body      string    `json:"body"`
	Commit    string    `json:"commit_id"`
	Submitted time.Time `json:"submitted_at"`
}

// remark is a comment on the whole of a pull request.
type remark struct {
	ID      int64     `json:"id"`
	User    user      `json:"user"`
	Body    string    `json:"body"`
	Created time.Time `json:"created_at"`
}

// lineRemark is a comment on a line of a pull request.
type lineRemark struct {
	remark
	ReplyTo        int64  `json:"in_reply_to_id"`
	Review         int64  `json:"pull_request_review_id"`
	Path           string `json:"path"`
	Hunk           string `json:"diff_hunk"`
	Line           int    `json:"line"`
	OriginalLine   int    `json:"original_line"`
	Side           string `json:"side"`
	OriginalCommit string `json:"original_commit_id"`
}

// issueEvent is something that happened to a pull request.
type issueEvent struct {
	Event string `json:"event"`
	Actor user   `json:"actor"`
}

type status struct {
	ID          int64     `json:"id"`
	Context     string    `json:"context"`
	Description string    `json:"description"`
	URL         string    `json:"target_url"`
	State       string    `json:"state"`
	Created     time.Time `json:"created_at"`
}

// statuses is what the statuses of a commit come to.
type statuses struct {
	State string `json:"state"`
	Total int    `json:"total_count"`
}

type checkRun struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	URL        string    `json:"html_url"`
	Status     string    `json:"status"`
	Conclusion string    `json:"conclusion"`
	Started    time.Time `json:"started_at"`
	Output     struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
		Text    string `json:"text"`
	} `json:"output"`
	App struct {
		Slug string `json:"slug"`
	} `json:"app"`
	Suite struct {
		ID int64 `json:"id"`
	} `json:"check_suite"`
}

type checkRuns struct {
	Runs []checkRun `json:"check_runs"`
}

// job is one of GitHub's Actions.
type job struct {
	Head  string `json:"head_sha"`
	Steps []struct {
		Name       string `json:"name"`
		Conclusion string `json:"conclusion"`
	} `json:"steps"`
}

// reference is a branch.
type reference struct {
	Object struct {
		SHA string `json:"sha"`
	} `json:"object"`
}

type mergedCommit struct {
	Parents []struct {
		SHA string `json:"sha"`
	} `json:"parents"`
}

type hook struct {
	ID     int64 `json:"id"`
	Config struct {
		URL string `json:"url"`
	} `json:"config"`
}

// merged is what GitHub answers to a merge.
type merged struct {
	Merged bool   `json:"merged"`
	SHA    string `json:"sha"`
}
