package gitea

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

const (
	pageSize = 50 // servers give no more
	maxPages = 200
)

// account is a token with which the repository is spoken with.
type account string

// request is one request below the repository; do says what it is for.
type request struct {
	do, method, path string
	query            url.Values
	body             any
	as               account // "" = the one that proposes
}

// send sends a request, and returns whatever is answered.
func (h *Host) send(ctx context.Context, r request, address string) (host.Answer, error) {
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.as == "" {
		r.as = account(h.cfg.Token)
	}
	if address += r.path; len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	return h.client.Ask(ctx, r.method, address, http.Header{"Authorization": {"token " + string(r.as)}}, r.body)
}

// repository is the address that requests are below.
func (h *Host) repository() string {
	return fmt.Sprintf("%s/api/v1/repos/%s/%s", h.root, url.PathEscape(h.cfg.Owner), url.PathEscape(h.cfg.Repo))
}

// ask is a request whose answer is wanted; into nil reads none.
func (h *Host) ask(ctx context.Context, r request, into any) (host.Answer, *work.HostTrouble) {
	a, err := h.send(ctx, r, h.repository())
	return a, h.read(r.do, a, err, into)
}

// read takes an answer.
func (h *Host) read(do string, a host.Answer, err error, into any) *work.HostTrouble {
	if err != nil || a.Status >= 300 {
		return h.trouble(do, a, err)
	}
	if into != nil && json.Unmarshal(a.Body, into) != nil {
		return notGitea(do, a.Status)
	}
	return nil
}

// eachPage asks for a list, page by page, until there is none or take has enough.
// first is the header of the first page.
func eachPage[P any](ctx context.Context, h *Host, r request, take func(P) (enough bool)) (first http.Header, t *work.HostTrouble) {
	query := url.Values{"limit": {fmt.Sprint(pageSize)}}
	maps.Copy(query, r.query)
	r.query = query
	seen := 0
	for page := 1; page <= maxPages; page++ {
		query.Set("page", fmt.Sprint(page))
		var all []P
		a, t := h.ask(ctx, r, &all)
		if t != nil {
			return first, t
		}
		if page == 1 {
			first = a.Header
		}
		for _, p := range all {
			if take(p) {
				return first, nil
			}
		}
		if seen += len(all); !more(a.Header, seen, len(all)) {
			break
		}
	}
	return first, nil
}

// more says whether a list has another page. A server may give fewer at once
// than it is asked for, and not every list of it links to the next page.
func more(header http.Header, seen, here int) bool {
	if total, err := strconv.Atoi(header.Get("X-Total-Count")); err == nil {
		return here > 0 && seen < total
	}
	return here > 0
}

func pullPath(number int64) string  { return fmt.Sprintf("/pulls/%d", number) }
func issuePath(number int64) string { return fmt.Sprintf("/issues/%d", number) }

// branchPath is where a branch is told of; slashes of its name part folders there.
func branchPath(branch string) string {
	return "/branches/" + strings.ReplaceAll(url.PathEscape(branch), "%2F", "/")
}

// repo is the repository itself.
func (h *Host) repo(ctx context.Context, do string) (r repository, t *work.HostTrouble) {
	_, t = h.ask(ctx, request{do: do}, &r)
	return r, t
}

func (h *Host) branch(ctx context.Context, do, name string, as account) (b branch, t *work.HostTrouble) {
	_, t = h.ask(ctx, request{do: do, path: branchPath(name), as: as}, &b)
	return b, t
}

// whose is the account of a token, "" = of the one that proposes.
func (h *Host) whose(ctx context.Context, as account) (u user, t *work.HostTrouble) {
	const do = "ask whose the token is"
	a, err := h.send(ctx, request{path: "/user", as: as}, h.root+"/api/v1")
	return u, h.read(do, a, err, &u)
}

func notGitea(do string, status int) *work.HostTrouble {
	return &work.HostTrouble{Kind: work.HostWrong, Do: do, Status: status, What: "what answers there is no Gitea", Fix: "check host.url"}
}

var scopesIn = text.Lazy(`required=\[([^\]]*)\](?:, token scope=(\S*))?`)

// trouble says what an answer means.
func (h *Host) trouble(do string, a host.Answer, err error) *work.HostTrouble {
	message := ""
	if a.Status >= 300 {
		message = a.Message()
	}
	t := h.client.Trouble(do, a.Status, a.Header, message, err)
	if m := scopesIn().FindStringSubmatch(message); m != nil && a.Status == http.StatusForbidden {
		t.Kind, t.Scopes = work.HostMissingScope, strings.Fields(m[1])
		t.What = "the token lacks the scope " + strings.Join(t.Scopes, ", ")
		t.Fix = "make a token with it"
	}
	if strings.Contains(message, "branch protected") {
		t.Kind = work.HostProtected
	}
	return t
}
