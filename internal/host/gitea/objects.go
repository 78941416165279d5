package gitea

import "time"

// What Gitea tells of its objects, as far as Forge reads it. What an answer lacks,
// or says to be null, is empty.

type user struct {
	Login string `json:"login"`
}

type repository struct {
	FullName    string `json:"full_name"`
	Default     string `json:"default_branch"`
	Empty       bool   `json:"empty"`
	Archived    bool   `json:"archived"`
	Squash      bool   `json:"allow_squash_merge"`
	ByHand      bool   `json:"allow_manual_merge"`
	Pulls       bool   `json:"has_pull_requests"`
	Permissions struct {
		Push  bool `json:"push"`
		Admin bool `json:"admin"`
	} `json:"permissions"`
}

type branch struct {
	Commit struct {
		ID string `json:"id"`
	} `json:"commit"`
	Protected bool     `json:"protected"`
	Approvals int      `json:"required_approvals"`
	Checked   bool     `json:"enable_status_check"`
	Contexts  []string `json:"status_check_contexts"`
	CanMerge  bool     `json:"user_can_merge"`
}

// tip is where a branch of a pull request is. Name stays when the branch is
// deleted, and Ref does not.
type tip struct {
	Name   string `json:"label"`
	Ref    string `json:"ref"`
	SHA    string `json:"sha"`
	RepoID int64  `json:"repo_id"`
}

type pullRequest struct {
	Number      int64      `json:"number"`
	URL         string     `json:"html_url"`
	State       string     `json:"state"`
	Title       string     `json:"title"`
	Body        string     `json:"body"`
	Draft       bool       `json:"draft"`
	Mergeable   bool       `json:"mergeable"`
	Merged      bool       `json:"merged"`
	MergeCommit string     `json:"merge_commit_sha"`
	MergedBy    user       `json:"merged_by"`
	Poster      user       `json:"user"`
	Base        *tip       `json:"base"`
	Head        *tip       `json:"head"`
	Updated     *time.Time `json:"updated_at"`
}

const open, closed = "open", "closed"

// States of a review.
const (
	reviewApproved = "APPROVED"
	reviewPending  = "PENDING" // not submitted yet
	reviewComment  = "COMMENT"
	reviewChanges  = "REQUEST_CHANGES"
	reviewAsked    = "REQUEST_REVIEW" // somebody was asked for one
)

type pullReview struct {
	ID        int64     `json:"id"`
	Reviewer  user      `json:"user"`
	State     string    `json:"state"`
	Body      string    `json:"body"`
	Commit    string    `json:"commit_id"`
	Stale     bool      `json:"stale"`
	Official  bool      `json:"official"`
	Dismissed bool      `json:"dismissed"`
	Lines     int       `json:"comments_count"`
	Submitted time.Time `json:"submitted_at"`
}

// remark is a comment on the whole of a pull request.
type remark struct {
	ID      int64     `json:"id"`
	Poster  user      `json:"user"`
	Body    string    `json:"body"`
	Created time.Time `json:"created_at"`
}

// lineRemark is a comment on a line of a pull request.
type lineRemark struct {
	remark
	Review         int64  `json:"pull_request_review_id"`
	Resolver       *user  `json:"resolver"`
	Path           string `json:"path"`
	Commit         string `json:"commit_id"`
	OriginalCommit string `json:"original_commit_id"`
	Hunk           string `json:"diff_hunk"`
	Line           int    `json:"position"`
	OldLine        int    `json:"original_position"`
}

// occasion is something that happened to a pull request.
type occasion struct {
	Type   string `json:"type"`
	Poster user   `json:"user"`
}

// newReview is a review that is posted.
type newReview struct {
	Event    string          `json:"event"`
	Body     string          `json:"body"`
	Commit   string          `json:"commit_id"`
	Comments []newLineRemark `json:"comments"`
}

type newLineRemark struct {
	Path    string `json:"path"`
	Body    string `json:"body"`
	Line    int    `json:"new_position"`
	OldLine int    `json:"old_position"`
}

type status struct {
	ID          int64     `json:"id"`
	State       string    `json:"status"`
	URL         string    `json:"target_url"`
	Description string    `json:"description"`
	Context     string    `json:"context"`
	Created     time.Time `json:"created_at"`
}

// statuses is what the statuses of a commit come to.
type statuses struct {
	State string   `json:"state"`
	Total int      `json:"total_count"`
	All   []status `json:"statuses"`
}

// job is one of Gitea's Actions.
type job struct {
	Head  string `json:"head_sha"`
	Steps []struct {
		Name       string `json:"name"`
		Conclusion string `json:"conclusion"`
	} `json:"steps"`
}

type hook struct {
	ID     int64             `json:"id"`
	Config map[string]string `json:"config"`
}

type mergedCommit struct {
	Parents []struct {
		SHA string `json:"sha"`
	} `json:"parents"`
}
