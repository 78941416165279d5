package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/work"
)

func (a *App) hostCommand() *cli.Command {
	names := []string{"status", "doctor", "setup", "watch"}
	listen := &cli.StringFlag{Name: "listen", Usage: "address on which the test waits for the webhook, where nothing else of Forge listens", Value: hookListen}
	wait := &cli.DurationFlag{Name: "wait", Usage: "how long the test waits for the webhook", Value: 15 * time.Second}
	return &cli.Command{
		Name: "host", Usage: "the code host that pull requests go to",
		Subcommands: []*cli.Command{
			{Name: "status", Usage: "say which host, which repository and as whom", Action: a.hostStatus},
			{
				Name: "doctor", Usage: "find what the token, the repository and the webhook lack",
				Flags:  []cli.Flag{&cli.BoolFlag{Name: "webhook", Usage: "let the host send a webhook, and wait for it"}, listen, wait},
				Action: a.hostDoctor,
			},
			{
				Name: "setup", Usage: "say what to put into [host], or make the webhook",
				Flags:  []cli.Flag{&cli.BoolFlag{Name: "webhook", Usage: "make the webhook, or set it right"}},
				Action: a.hostSetup,
			},
			a.hostWatchCommand(),
		},
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return cli.ShowSubcommandHelp(c)
			}
			return refusal.New("forge host "+strings.Join(names, ", "), "unknown command %q", "host "+c.Args().First())
		},
	}
}

func (a *App) hostStatus(c *cli.Context) error {
	p, err := a.openProject(c.Context)
	if err != nil {
		return err
	}
	defer p.Close()
	set, err := pullrequest.HostSettings(p.Checkout)
	if err != nil {
		return err
	}
	if set.Kind == "local" {
		fmt.Fprintln(a.Stdout, "No code host: what waits is answered by forge approve and in the browser.\nforge host setup says how to name one.")
		return nil
	}
	h, err := pullrequest.OpenHost(p.Checkout, set, nil)
	if err != nil {
		return pullrequest.HostRefused(err)
	}
	news := func() {
		sayNews(p.Checkout, a.Stdout, work.PullSettings{Kind: set.Kind, URL: set.URL, Repo: set.Owner + "/" + set.Repo})
	}
	got, err := h.Access(c.Context, p.Config.PullTarget())
	if err != nil {
		news()
		return pullrequest.HostRefused(err)
	}
	fmt.Fprintf(a.Stdout, "%s/%s on %s (%s)\n", set.Owner, set.Repo, set.URL, set.Kind)
	fmt.Fprintf(a.Stdout, "  as       %s, by %s\n", pullrequest.OrUnknown(got.Account.Name), set.Token.Name)
	if len(got.Missing) > 0 {
		fmt.Fprintf(a.Stdout, "  lacks    %s: forge host doctor\n", strings.Join(got.Missing, ", "))
	}
	if got.Repo != "" {
		fmt.Fprintf(a.Stdout, "  issues   %s\n", landsAt(p.Checkout, got))
	}
	if got.Repo != "" && len(got.Missing) == 0 { // what the account may is not what the token may
		fmt.Fprintf(a.Stdout, "  may      %s\n", rights(got))
	}
	fmt.Fprintf(a.Stdout, "  asked    every %s%s\n", set.Poll, map[bool]string{true: ", and told at " + set.WebhookURL}[set.WebhookURL != ""])
	news()
	return nil
}

// landsAt is the branch that results of issues are for, and what it asks for.
// Runs have branches of their own there.
func landsAt(p *project.Checkout, a work.HostAccess) string {
	switch branch := cmp.Or(p.Config.PullTarget(), a.Default); {
	case a.Empty:
		return "cannot land: the repository is empty"
	case branch == "":
		return "cannot land: the host names no default branch, and factory.target is not set"
	default:
		return "land in " + branch + baseRules(a)
	}
}

func baseRules(a work.HostAccess) string {
	if !a.Protected {
		return ", not protected"
	}
	out := fmt.Sprintf(", protected: %d approval(s)", a.Approvals)
	if len(a.Checks) > 0 {
		out += ", checks " + strings.Join(a.Checks, ", ")
	}
	return out
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

func (a *App) hostDoctor(c *cli.Context) error {
	d := &doctor{app: a}
	var try *hookTry
	if c.Bool("webhook") {
		try = &hookTry{listen: c.String("listen"), wait: c.Duration("wait")}
	}
	d.host(c.Context, try)
	if d.bad > 0 {
		fmt.Fprintf(a.Stdout, "\n%d problem(s).\n", d.bad)
		return codeError(exitUsage)
	}
	return nil
}

// host looks at what pull requests need; hook nil tries no webhook.
func (d *doctor) host(ctx context.Context, hook *hookTry) {
	p, err := d.app.openProject(ctx)
	if err != nil {
		d.failed("project", err)
		return
	}
	defer p.Close()
	set, err := pullrequest.HostSettings(p.Checkout)
	if err != nil {
		d.failed("host", err)
		return
	}
	if set.Kind == "local" {
		d.note("forge host setup says how to name one", "no code host: what waits is answered by forge approve and in the browser")
		return
	}
	h, err := pullrequest.OpenHost(p.Checkout, set, nil)
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
	d.otherTokens(ctx, p.Checkout, set)
	if err != nil {
		d.trouble(err)
		return
	}
	if !got.Empty {
		d.good("results of issues %s", landsAt(p.Checkout, got))
	}
	if hook != nil {
		d.webhook(ctx, h, set, *hook)
	}
}

func (d *doctor) access(set config.CodeHost, got work.HostAccess) {
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
func (d *doctor) otherTokens(ctx context.Context, p *project.Checkout, set config.CodeHost) {
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

func (d *doctor) trouble(err error) {
	var t *work.HostTrouble
	if errors.As(err, &t) {
		d.poor(t.Fix, "%v", err)
		return
	}
	d.failed("host", err)
}

func (a *App) hostSetup(c *cli.Context) error {
	p, err := a.openProject(c.Context)
	if err != nil {
		return err
	}
	defer p.Close()
	set, err := pullrequest.HostSettings(p.Checkout)
	if err != nil {
		return err
	}
	if set.Kind == "local" {
		fmt.Fprint(a.Stdout, `Put this into .forge/forge.toml:

    [host]
    kind = "gitea"                      # or github, which needs no url
    url = "https://git.example.com"
    repo = "owner/name"

Make a token on the host and put it into GITEA_TOKEN (or GITHUB_TOKEN):
  Gitea   write:repository, write:issue, read:user
  GitHub  classic: repo; fine-grained: contents, pull requests, issues, webhooks: write; commit statuses, checks: read
Then: forge host doctor
`)
		return nil
	}
	if !c.Bool("webhook") {
		return a.hostDoctor(c)
	}
	id, _, err := p.ensureHook(c.Context, set)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Webhook %d of %s/%s tells %s. Try it: forge host doctor --webhook\n", id, set.Owner, set.Repo, set.WebhookURL)
	return nil
}

func (p *checkout) ensureHook(ctx context.Context, set config.CodeHost) (int64, pullrequest.HookHost, error) {
	h, err := pullrequest.OpenHost(p.Checkout, set, nil)
	if err != nil {
		return 0, nil, pullrequest.HostRefused(err)
	}
	hooks, ok := h.(pullrequest.HookHost)
	switch {
	case !ok:
		return 0, nil, refusal.New("", "a host of kind %s has no webhooks", set.Kind)
	case set.WebhookURL == "":
		return 0, nil, refusal.New("write the address under which the host reaches this machine", "host.webhook_url is not set")
	case set.WebhookSecret.Value == "":
		return 0, nil, refusal.New("set it to a long random text", "%s, which webhooks are signed with, is not set", set.WebhookSecret.Name)
	}
	id, err := hooks.EnsureHook(ctx, set.WebhookURL, set.WebhookSecret.Value)
	return id, hooks, pullrequest.HostRefused(err)
}
