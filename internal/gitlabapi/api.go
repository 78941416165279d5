// Package gitlabapi asks the API of a GitLab server about one project.
package gitlabapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"forge/internal/host"
	"forge/internal/work"
)

const (
	// URL is GitLab's own server.
	URL      = "https://gitlab.com"
	pageSize = 100
	// maxPages bounds what is read of one list.
	maxPages = 100
	// Developer is the least access level that may write to a repository, and
	// Maintainer the least that may set a project up.
	Developer, Maintainer = 30, 40
)

// Project is one project, asked with one token. It may be used by several goroutines.
type Project struct {
	Path   string // group/name, or group/subgroup/name
	Root   string // address of the server
	Client *host.Client
	Token  string
}

// User is an account.
type User struct {
	ID   int64  `json:"id"`
	Name string `json:"username"`
}

// Login is its name; "" = the server names nobody.
func (u *User) Login() string {
	if u == nil {
		return ""
	}
	return u.Name
}

// As is the same project, asked with another token.
func (p Project) As(token string) Project {
	p.Token = token
	return p
}

// Call sends a request to an address below the server; into nil reads no answer.
func (p Project) Call(ctx context.Context, do, method, path string, body, into any) (host.Answer, error) {
	header := http.Header{"Authorization": {"Bearer " + p.Token}, "Accept": {"application/json"}}
	a, err := p.Client.Ask(ctx, method, p.Root+path, header, body)
	if err != nil || a.Status >= http.StatusMultipleChoices {
		return a, p.Client.Trouble(do, a.Status, waiting(a.Header), message(a), err)
	}
	if into != nil {
		if err := json.Unmarshal(a.Body, into); err != nil {
			return a, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not one of GitLab", Fix: "check the url", Err: err}
		}
	}
	return a, nil
}

// Ask is Call below the project.
func (p Project) Ask(ctx context.Context, do, method, path string, body, into any) (host.Answer, error) {
	return p.Call(ctx, do, method, "/api/v4/projects/"+url.PathEscape(p.Path)+path, body, into)
}

// Self is the account of the token.
func (p Project) Self(ctx context.Context) (User, error) {
	var own User
	_, err := p.Call(ctx, "ask whose the token is", http.MethodGet, "/api/v4/user", nil, &own)
	if err == nil && own.ID == 0 {
		err = &work.HostTrouble{Kind: work.HostWrong, Do: "ask whose the token is", What: "the answer is not one of GitLab", Fix: "check the url"}
	}
	return own, err
}

// MayWrite says whether an account may write to the repository.
func (p Project) MayWrite(ctx context.Context, who User) (bool, error) {
	var member struct {
		Level int    `json:"access_level"`
		State string `json:"state"`
	}
	a, err := p.Ask(ctx, "ask what "+who.Name+" may", http.MethodGet, fmt.Sprintf("/members/all/%d", who.ID), nil, &member)
	if a.Status == http.StatusNotFound {
		return false, nil
	}
	return member.Level >= Developer && (member.State == "" || member.State == "active"), err
}

// List reads all pages of a list below the project. A page that is not full need not
// be the last one: the server says whether there are more. With an error that says
// that there are too many, those are returned that were read.
func List[T any](ctx context.Context, p Project, do, path string, query url.Values) (all []T, err error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("per_page", strconv.Itoa(pageSize))
	next := "1"
	for range maxPages {
		query.Set("page", next)
		var some []T
		a, err := p.Ask(ctx, do, http.MethodGet, path+"?"+query.Encode(), nil, &some)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if next = a.Header.Get("X-Next-Page"); next == "" {
			return all, nil
		}
	}
	return all, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "there are too many to be read"}
}

// waiting says when a limit ends as other hosts do.
func waiting(h http.Header) http.Header {
	if at := h.Get("RateLimit-Reset"); at != "" && h.Get("Retry-After") == "" {
		h = h.Clone()
		h.Set("X-RateLimit-Reset", at)
	}
	return h
}

// message is what a failed answer says in words: a word, or a list for each field.
func message(a host.Answer) string {
	var said struct {
		Message any    `json:"message"`
		Error   string `json:"error"`
		More    string `json:"error_description"`
	}
	if json.Unmarshal(a.Body, &said) != nil {
		return a.Message()
	}
	if said.Message == nil {
		return strings.TrimSpace(said.Error + " " + said.More)
	}
	return fmt.Sprint(said.Message)
}
