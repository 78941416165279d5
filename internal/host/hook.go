package host

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// MaxHookBytes is the longest webhook that is read.
const MaxHookBytes = 8 << 20

// maxHookID is the longest id of a delivery that is remembered.
const maxHookID = 100

// Errors of ReadHook.
var (
	ErrHookUnsigned = errors.New("the webhook is not signed with the secret that both sides know")
	ErrHookUnread   = errors.New("the webhook cannot be read")
)

// Hint says that something may have happened. It is never believed: what it
// points at is read from the host.
type Hint struct {
	// Known are the words by which it is known again: what was signed, and the
	// delivery's id, which is not, so that who caught one webhook may write any.
	Known  []string
	Event  string // in the host's own word
	Repo   string // owner/name
	Number int64  // of a pull request to look at again, 0 = none is named
	Branch string // that was pushed to, created or deleted
	Ping   bool   // a test of delivery
}

// ReadHook checks who a webhook is from and says what it points at. An empty
// secret checks nothing through: every webhook is unsigned then. A hint without
// number, branch and ping asks for nothing.
func ReadHook(secret string, header http.Header, body []byte) (Hint, error) {
	if !signed(secret, header, body) {
		return Hint{}, ErrHookUnsigned
	}
	h := Hint{
		Event: first(header, "X-Gitea-Event", "X-Github-Event", "X-Gitlab-Event", "Linear-Event"),
	}
	if len(body) > MaxHookBytes {
		return Hint{}, ErrHookUnread
	}
	var said struct {
		Number int64  `json:"number"`
		Ref    string `json:"ref"`
		Type   string `json:"ref_type"`
		Zen    string `json:"zen"`
		Pull   *struct {
			Number int64 `json:"number"`
		} `json:"pull_request"`
		Issue *struct {
			Number int64           `json:"number"`
			Pull   json.RawMessage `json:"pull_request"`
		} `json:"issue"`
		Repository struct {
			FullName string `json:"full_name"`
		} `json:"repository"`
		// Of GitLab: what it is about, and a merge request that it is beside.
		Kind    string `json:"object_kind"`
		Project struct {
			Path string `json:"path_with_namespace"`
		} `json:"project"`
		Object struct {
			Number int64 `json:"iid"`
		} `json:"object_attributes"`
		Merge *struct {
			Number int64 `json:"iid"`
		} `json:"merge_request"`
	}
	if json.Unmarshal(body, &said) != nil {
		return Hint{}, ErrHookUnread
	}
	sum := sha256.Sum256(body)
	h.Known = []string{"body " + hex.EncodeToString(sum[:])}
	if id := first(header, "X-Gitea-Delivery", "X-Github-Delivery", "X-Gitlab-Event-Uuid", "Linear-Delivery", "X-Atlassian-Webhook-Identifier"); id != "" && len(id) <= maxHookID {
		h.Known = append(h.Known, "id "+id)
	}
	h.Repo = cmp.Or(said.Repository.FullName, said.Project.Path)
	switch {
	case said.Kind == "merge_request" && said.Object.Number > 0:
		h.Number = said.Object.Number
	case said.Kind != "" && said.Merge != nil && said.Merge.Number > 0:
		h.Number = said.Merge.Number
	case said.Pull != nil && said.Pull.Number > 0:
		h.Number = said.Pull.Number
	case said.Pull != nil && said.Number > 0:
		h.Number = said.Number
	case said.Issue != nil && len(said.Issue.Pull) > 0 && string(said.Issue.Pull) != "null" && said.Issue.Number > 0:
		h.Number = said.Issue.Number
	}
	switch branch, full := strings.CutPrefix(said.Ref, "refs/heads/"); {
	case full:
		h.Branch = branch
	case said.Type == "branch":
		h.Branch = said.Ref
	}
	h.Ping = h.Event == "ping" || said.Zen != ""
	return h, nil
}

func first(h http.Header, names ...string) string {
	for _, n := range names {
		if v := h.Get(n); v != "" {
			return v
		}
	}
	return ""
}

// signed compares in constant time. Gitea and GitHub send the header of GitHub, older
// ones of Gitea only their own; Jira signs under another name, and Linear without the
// name of the way. GitLab sends the secret as it is: who knows it can sign as well.
func signed(secret string, header http.Header, body []byte) bool {
	if secret == "" {
		return false
	}
	if token := header.Get("X-Gitlab-Token"); token != "" {
		is, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(secret)) // of one length, whatever was sent
		return hmac.Equal(is[:], want[:])
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	want := mac.Sum(nil)
	got := first(header, "X-Hub-Signature-256", "X-Hub-Signature")
	got, ok := strings.CutPrefix(got, "sha256=")
	if !ok {
		got = first(header, "X-Gitea-Signature", "Linear-Signature")
	}
	is, err := hex.DecodeString(got)
	return err == nil && hmac.Equal(is, want)
}
