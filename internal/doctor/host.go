package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/work"
)

// Host looks at what pull requests need; hook nil tries no webhook.
func (d *Doctor) Host(ctx context.Context, hook *HookTry) {
	p, err := project.Open(ctx, d.Env)
	if err != nil {
		d.failed("project", err)
		return
	}
	defer p.Close()
	set, err := pullrequest.HostSettings(p)
	if err != nil {
		d.failed("host", err)
		return
	}
	if set.Kind == "local" {
		d.note("forge host setup says how to name one", "no code host: what waits is answered by forge approve and in the browser")
		return
	}
	h, err := pullrequest.OpenHost(p, set, nil)
	if err != nil {
		d.trouble(err)
		return
	}
	got, err := h.Access(ctx, p.Config.PullTarget())
	if err != nil && got.Repo == "" && len(got.Missing) == 0 {
		d.trouble(err)
		return
	}
	d.good("%s answers, as %s", set.URL, pullrequest.OrUnknown(got.Account.Name))
	if len(got.Missing) > 0 {
		d.poor("make a token that also has "+strings.Join(got.Missing, ", "), "the token in %s lacks %s", set.Token.Name, strings.Join(got.Missing, ", "))
	} else {
		d.good("the token has every scope that is needed")
	}
	if got.Repo == "" {
		return
	}
	d.access(set, got)
	d.otherTokens(ctx, p, set)
	if err != nil {
		d.trouble(err)
		return
	}
	if !got.Empty {
		d.good("results of issues %s", pullrequest.LandsAt(p, got))
	}
	if hook != nil {
		d.webhook(ctx, h, set, *hook)
	}
}

func (d *Doctor) access(set config.CodeHost, got work.HostAccess) {
	switch {
	case got.Archived:
		d.poor("unarchive it", "%s is archived", got.Repo)
	case !got.Push:
		d.poor("give the account the right to write", "the account may not push to %s", got.Repo)
	case got.Empty:
		d.poor("push the base branch there", "%s is empty", got.Repo)
	default:
		d.good("%s, with the right to push", got.Repo)
	}
	switch {
	case got.NoPulls:
		d.poor("switch pull requests on in the settings of the repository", "%s has no pull requests", got.Repo)
	case !got.Squash:
		d.poor("allow squash merges in the settings of the repository", "%s does not allow squash merges", got.Repo)
	}
	switch {
	case set.WebhookURL == "":
		d.note("set host.webhook_url, and forge host setup --webhook", "no webhook: the host is asked every %s", set.Poll)
	case set.WebhookSecret.Value == "":
		d.poor("set it to a long random text", "%s, which webhooks are signed with, is not set", set.WebhookSecret.Name)
	case !got.Admin:
		d.note("give the account that right, or make the webhook by hand", "the account may not make webhooks")
	}
}

// otherTokens looks at those beside the one that proposes: who merges, and who
// says what reviewers found, writes to the repository and nothing else.
func (d *Doctor) otherTokens(ctx context.Context, p *project.Checkout, set config.CodeHost) {
	for i, token := range []config.Secret{set.MergerToken, set.ReviewerToken} {
		if token.Value == "" || token.Value == set.Token.Value {
			continue
		}
		merges := i == 0
		as := set
		as.Token, as.MergerToken, as.ReviewerToken = token, config.Secret{}, config.Secret{}
		h, err := pullrequest.OpenHost(p, as, nil)
		if err != nil {
			d.trouble(err)
			continue
		}
		got, err := h.Access(ctx, p.Config.PullTarget())
		lacks := slices.DeleteFunc(got.Missing, func(scope string) bool {
			return strings.HasSuffix(scope, ":issue")
		})
		switch {
		case len(lacks) > 0:
			d.poor("make a token that also has "+strings.Join(lacks, ", "), "the token in %s lacks %s", token.Name, strings.Join(lacks, ", "))
		case work.HostKindOf(err) == work.HostUnauthorized:
			d.poor("make a new token on the host and put it there", "the host does not accept the token in %s", token.Name)
		case err != nil && got.Repo == "":
			d.failed("the token in "+token.Name, pullrequest.HostRefused(err))
		case merges && !got.Push:
			d.poor("give that account the right to write", "%s, whose token is in %s, may not merge in %s", pullrequest.OrUnknown(got.Account.Name), token.Name, set.Owner+"/"+set.Repo)
		default:
			d.good("the token in %s is %s's", token.Name, pullrequest.OrUnknown(got.Account.Name))
		}
	}
}

func (d *Doctor) trouble(err error) {
	var t *work.HostTrouble
	if errors.As(err, &t) {
		d.poor(t.Fix, "%v", err)
		return
	}
	d.failed("host", err)
}
