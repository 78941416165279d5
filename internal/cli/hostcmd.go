package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/doctor"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/server"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) hostCommand() *cli.Command {
	names := []string{"status", "doctor", "setup", "watch"}
	listen := &cli.StringFlag{Name: "listen", Usage: "address on which the test waits for the webhook, where nothing else of Forge listens", Value: server.HookListen}
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
		pullrequest.SayNews(p.Checkout, a.Stdout, work.PullSettings{Kind: set.Kind, URL: set.URL, Repo: set.Owner + "/" + set.Repo})
	}
	got, err := h.Access(c.Context, p.Config.PullTarget())
	if err != nil {
		news()
		return pullrequest.HostRefused(err)
	}
	fmt.Fprint(a.Stdout, pullrequest.AccessText(p.Checkout, set, got))
	news()
	return nil
}

func (a *App) hostDoctor(c *cli.Context) error {
	d := &doctor.Doctor{Env: a.env(), Out: a.Stdout}
	var try *doctor.HookTry
	if c.Bool("webhook") {
		try = &doctor.HookTry{Listen: c.String("listen"), Wait: c.Duration("wait")}
	}
	d.Host(c.Context, try)
	if d.Bad > 0 {
		fmt.Fprintf(a.Stdout, "\n%s.\n", text.Number(d.Bad, "problem"))
		return codeError(exitUsage)
	}
	return nil
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
    kind = "gitea"                      # or github, gitlab, which need no url
    url = "https://git.example.com"
    repo = "owner/name"

Make a token on the host and put it into GITEA_TOKEN (or GITHUB_TOKEN, GITLAB_TOKEN):
  Gitea   write:repository, write:issue, read:user
  GitHub  classic: repo; fine-grained: contents, pull requests, issues, webhooks: write; commit statuses, checks: read
  GitLab  api
Then: forge host doctor
`)
		return nil
	}
	if !c.Bool("webhook") {
		return a.hostDoctor(c)
	}
	id, err := pullrequest.EnsureHook(c.Context, p.Checkout, set)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Webhook %d of %s/%s tells %s. Try it: forge host doctor --webhook\n", id, set.Owner, set.Repo, set.WebhookURL)
	return nil
}
