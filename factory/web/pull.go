package web

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"forge/internal/work"
	"forge/orchestrator"
)

// pullView is a pull request as pages name it.
type pullView struct {
	Number int64
	URL    string // "" = it is not linked
}

// viewPull is a pull request whose address a host, or whoever speaks in its
// place, told: it is linked where it leads to that host, by http or https.
func viewPull(number int64, address, host string) *pullView {
	if number <= 0 {
		return nil
	}
	out := &pullView{Number: number}
	if leadsTo(address, host) {
		out.URL = address
	}
	return out
}

func pullOf(p *orchestrator.View, host string) *pullView {
	if p.Pull == nil {
		return nil
	}
	return viewPull(p.Pull.Number, p.Pull.URL, host)
}

// issuePull is the pull request of an issue's result; nil where there is none.
func issuePull(ctx context.Context, p Project, id int64) (*pullView, error) {
	if id == 0 {
		return nil, nil
	}
	i, err := p.Cards.Issue(ctx, p.Board.Project, id)
	if errors.Is(err, work.ErrNoIssue) || err == nil && i.Pull == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return viewPull(i.Pull.Number, i.Pull.URL, p.HostURL), nil
}

func leadsTo(address, host string) bool {
	to, err1 := url.Parse(address)
	at, err2 := url.Parse(host)
	if err1 != nil || err2 != nil || at.Host == "" || to.User != nil || to.Opaque != "" {
		return false
	}
	if to.Scheme != "https" && to.Scheme != "http" || to.Scheme != at.Scheme && to.Scheme != "https" {
		return false
	}
	below := strings.TrimRight(at.Path, "/") + "/"
	return strings.EqualFold(to.Host, at.Host) && strings.HasPrefix(to.Path, below) && !strings.Contains(to.Path, "/..")
}
