package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// The shells ask forge itself what may come next, so that no script has to be
// made anew when a command is added.
const (
	bashCompletion = `# bash: put "source <(forge completion bash)" into ~/.bashrc
_forge() {
	local cur words
	cur="${COMP_WORDS[COMP_CWORD]}"
	if [[ "$cur" == -* ]]; then
		words=$("${COMP_WORDS[@]:0:COMP_CWORD}" "$cur" --generate-bash-completion 2>/dev/null)
	else
		words=$("${COMP_WORDS[@]:0:COMP_CWORD}" --generate-bash-completion 2>/dev/null)
	fi
	COMPREPLY=($(compgen -W "${words}" -- "$cur"))
}
complete -o bashdefault -o default -F _forge forge
`
	zshCompletion = `#compdef forge
# zsh: put "source <(forge completion zsh)" into ~/.zshrc
_forge() {
	local -a words_
	words_=("${(@f)$(${words[1,CURRENT-1]} --generate-bash-completion 2>/dev/null)}")
	_describe 'forge' words_ || _files
}
compdef _forge forge
`
)

func (a *App) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a completion script", ArgsUsage: "bash|zsh|fish",
		Action: func(c *cli.Context) error {
			var text string
			switch shell := c.Args().First(); shell {
			case "bash":
				text = bashCompletion
			case "zsh":
				text = zshCompletion
			case "fish":
				var err error
				if text, err = a.command().ToFishCompletion(); err != nil {
					return fmt.Errorf("make the fish completion: %w", err)
				}
			default:
				return refuse("use bash, zsh or fish", "unknown shell %q", shell)
			}
			_, err := fmt.Fprint(a.Stdout, text)
			return err
		},
	}
}

func (a *App) manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page (forge man | man -l -)",
		Action: func(*cli.Context) error {
			text, err := a.command().ToMan()
			if err != nil {
				return fmt.Errorf("make the manual page: %w", err)
			}
			_, err = fmt.Fprint(a.Stdout, text)
			return err
		},
	}
}
