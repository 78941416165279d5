package jira

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"

	"forge/factory/tracker"
	"forge/internal/work"
)

// people are those of one reading. Two accounts may be displayed by the same name:
// here each has its own, so that nobody is taken for somebody else.
type people struct {
	of    *Tracker
	names map[string]string // by id
	ids   map[string]string // by name
	logins
}

// logins are names by id, as a server of one's own finds accounts by.
type logins map[string]string

func (p *people) name(a *account) string {
	if a.id() == "" {
		return ""
	}
	if p.logins == nil {
		p.logins = logins{}
	}
	p.logins[a.id()] = a.Name
	return p.byID(a.id(), a.Displayed)
}

func (p *people) byID(id, displayed string) string {
	if name, known := p.names[id]; known {
		return name
	}
	name := work.OneLine(cmp.Or(displayed, id))
	if _, taken := p.ids[name]; taken {
		name += " (" + id + ")"
	}
	p.names[id], p.ids[name] = name, id
	return name
}

// writers asks of everybody whose word may count whether they may edit the project's
// issues and resolve them. Many projects give the first to whoever reported one.
func (p *people) writers(ctx context.Context, r *tracker.Reading) error {
	return r.AskWriters(func(who string) (bool, error) {
		id := p.ids[who]
		query := url.Values{"permissions": {"EDIT_ISSUE,RESOLVE_ISSUE"}, "projectKey": {p.of.cfg.Project}, "username": {cmp.Or(p.logins[id], id)}}
		if p.of.cloud {
			query = url.Values{"permissions": {"EDIT_ISSUES,RESOLVE_ISSUES"}, "projectKey": {p.of.cfg.Project}, "accountId": {id}}
		}
		var may []account
		if _, err := p.of.ask(ctx, "ask what "+who+" may", http.MethodGet, "/user/permission/search?"+query.Encode(), nil, &may); err != nil {
			return false, err
		}
		return slices.ContainsFunc(may, func(a account) bool { return a.id() == id }), nil
	})
}
