package github

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"forge/internal/host"
	"forge/internal/work"
)

const (
	pageSize = 100
	// maxPages bounds what is read of one list.
	maxPages = 200
)

// account is a token with which the repository is spoken with.
type account string

// headers are what each request says.
func (a account) headers() http.Header {
	h := http.Header{"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}}
	if a != "" {
		h.Set("Authorization", "Bearer "+string(a))
	}
	return h
}

// request is one request below the API; do says what it is for.
type request struct {
	do, method, path string
	query            url.Values
	body             any
	as               account // "" = the one that asks
}

// call sends a request; into nil reads no answer.
func (h *Host) call(ctx context.Context, r request, into any) (host.Answer, *work.HostTrouble) {
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.as == "" {
		r.as = h.asks
	}
	address := h.root + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	a, err := h.client.Ask(ctx, r.method, address, r.as.headers(), r.body)
	if err != nil || a.Status >= 300 {
		return a, h.trouble(r.do, a, err)
	}
	if into != nil && json.Unmarshal(a.Body, into) != nil {
		return a, notGitHub(r.do, a.Status)
	}
	return a, nil
}

// ask is call below the repository.
func (h *Host) ask(ctx context.Context, r request, into any) (host.Answer, *work.HostTrouble) {
	r.path = h.repository() + r.path
	return h.call(ctx, r, into)
}

func (h *Host) repository() string {
	return "/repos/" + url.PathEscape(h.cfg.Owner) + "/" + url.PathEscape(h.cfg.Repo)
}

// eachPage asks for a list, page by page, until there is none or take has enough.
func eachPage[P any](ctx context.Context, h *Host, r request, take func(page P) (enough bool)) *work.HostTrouble {
	query := url.Values{"per_page": {fmt.Sprint(pageSize)}}
	maps.Copy(query, r.query)
	r.query = query
	for page := 1; page <= maxPages; page++ {
		r.query.Set("page", fmt.Sprint(page))
		var p P
		a, t := h.ask(ctx, r, &p)
		if t != nil {
			return t
		}
		if take(p) || !more(a.Header) {
			break
		}
	}
	return nil
}

// more says whether a list goes on.
func more(header http.Header) bool {
	return strings.Contains(strings.Join(header.Values("Link"), ","), `rel="next"`)
}

func notGitHub(do string, status int) *work.HostTrouble {
	return &work.HostTrouble{Kind: work.HostWrong, Do: do, Status: status, What: "what answers there is no GitHub", Fix: "check host.url"}
}

// trouble says what an answer means.
func (h *Host) trouble(do string, a host.Answer, err error) *work.HostTrouble {
	message := ""
	if a.Status >= 300 {
		message = a.Message()
	}
	t := h.client.Trouble(do, a.Status, a.Header, message, err)
	if needs := a.Header.Get("X-Accepted-GitHub-Permissions"); t.Kind == work.HostForbidden && needs != "" && strings.Contains(message, "not accessible by") {
		t.Kind, t.Scopes = work.HostMissingScope, strings.FieldsFunc(needs, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
		t.What, t.Fix = "the token lacks the permission "+needs, "give it to the token"
	}
	return t
}
