package pullrequest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// AccessText says for a person which host, which repository and as whom.
func AccessText(p *project.Checkout, set config.CodeHost, got work.HostAccess) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s on %s (%s)\n", set.Owner, set.Repo, set.URL, set.Kind)
	fmt.Fprintf(&b, "  as       %s, by %s\n", OrUnknown(got.Account.Name), set.Token.Name)
	if len(got.Missing) > 0 {
		fmt.Fprintf(&b, "  lacks    %s: forge host doctor\n", strings.Join(got.Missing, ", "))
	}
	if got.Repo != "" {
		fmt.Fprintf(&b, "  issues   %s\n", LandsAt(p, got))
	}
	if got.Repo != "" && len(got.Missing) == 0 { // what the account may is not what the token may
		fmt.Fprintf(&b, "  may      %s\n", rights(got))
	}
	fmt.Fprintf(&b, "  asked    every %s%s\n", set.Poll, map[bool]string{true: ", and told at " + set.WebhookURL}[set.WebhookURL != ""])
	return b.String()
}

func rights(a work.HostAccess) string {
	switch {
	case a.Archived:
		return "only read: the repository is archived"
	case !a.Push:
		return "only read"
	case a.Admin:
		return "push, and make webhooks"
	}
	return "push"
}

// EnsureHook makes the webhook by which the host tells of what people do there, or
// sets it right.
func EnsureHook(ctx context.Context, p *project.Checkout, set config.CodeHost) (int64, error) {
	h, err := OpenHost(p, set, nil)
	if err != nil {
		return 0, HostRefused(err)
	}
	switch {
	case set.WebhookURL == "":
		return 0, refusal.New("write the address under which the host reaches this machine", "host.webhook_url is not set")
	case set.WebhookSecret.Value == "":
		return 0, refusal.New("set it to a long random text", "%s, which webhooks are signed with, is not set", set.WebhookSecret.Name)
	}
	id, err := h.EnsureHook(ctx, set.WebhookURL, set.WebhookSecret.Value)
	return id, HostRefused(err)
}

// SayNews writes what whoever watches the host has noted, and since when nobody
// has.
func SayNews(p *project.Checkout, w io.Writer, at work.PullSettings) {
	n, ok := NewsOf(p, at)
	if !ok {
		fmt.Fprintln(w, "  news     nobody watches it: forge host watch, or forge factory; forge resume reads it once")
		return
	}
	now := p.Now()
	ago := func(t time.Time) string { return max(now.Sub(t), 0).Round(time.Second).String() }
	switch {
	case n.Once:
		fmt.Fprintf(w, "  news     read once, %s ago; nobody watches it: forge host watch, or forge factory\n", ago(n.At))
	case n.OutOfSight(now) > 0:
		fmt.Fprintf(w, "  news     nobody has looked for %s: forge host watch, or forge factory\n", ago(n.At))
	case n.Since.IsZero():
		fmt.Fprintf(w, "  news     read %s ago by process %d\n", ago(n.At), n.PID)
	}
	if !n.Since.IsZero() {
		fmt.Fprintf(w, "  news     not to be read since %s (%s): %s\n", n.Since.Local().Format(time.DateTime), ago(n.Since), text.Harmless(n.Why))
	}
	for _, id := range slices.Sorted(maps.Keys(n.Held)) {
		fmt.Fprintf(w, "  waits    %s: %s\n", text.Harmless(id), text.Harmless(n.Held[id]))
	}
	if len(n.Hooks) > 0 {
		var words []string
		for _, why := range slices.Sorted(maps.Keys(n.Hooks)) {
			words = append(words, fmt.Sprintf("%d %s", n.Hooks[why], why))
		}
		fmt.Fprintf(w, "  webhooks %s\n", strings.Join(words, ", "))
	}
}
