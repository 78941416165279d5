package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
)

// The shells ask forge itself what may come next, so that no script has to be
// made anew when a command is added.
const (
	bashCompletion = `# bash: put "source <(forge completion bash)" into ~/.bashrc
_forge() {
	local current="${COMP_WORDS[COMP_CWORD]}"
	local asked=("${COMP_WORDS[@]:0:COMP_CWORD}")
	# "--" by itself would end the flags.
	case "$current" in
	--) asked+=(-) ;;
	-*) asked+=("$current") ;;
	esac
	COMPREPLY=($(compgen -W "$("${asked[@]}" --generate-bash-completion 2>/dev/null)" -- "$current"))
}
complete -o bashdefault -o default -F _forge forge
`
	zshCompletion = `#compdef forge
# zsh: put "source <(forge completion zsh)" into ~/.zshrc, after compinit
_forge() {
	local -a asked offered
	asked=("${(@)words[1,CURRENT-1]}")
	case ${words[CURRENT]} in
	--) asked+=(-) ;;
	-*) asked+=("${words[CURRENT]}") ;;
	esac
	offered=(${(f)"$("${asked[@]}" --generate-bash-completion 2>/dev/null)"})
	compadd -a offered || _files
}
compdef _forge forge
`
	fishCompletion = `# fish: put "forge completion fish | source" into ~/.config/fish/config.fish
function __forge_offered
	set -l asked (commandline -opc)
	set -l current (commandline -ct)
	if string match -q -- '-*' "$current"
		set -a asked (string replace -r '^--$' - -- "$current")
	end
	command $asked --generate-bash-completion 2>/dev/null
end
complete -c forge -f -a '(__forge_offered)'
complete -c forge -n 'contains -- generate (commandline -opc)' -F
`
)

// completions are the scripts by their shells.
func completions() map[string]string {
	return map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
}

func (a *App) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a completion script", ArgsUsage: "bash|zsh|fish",
		BashComplete: func(c *cli.Context) {
			if c.Args().Present() {
				return
			}
			for _, shell := range slices.Sorted(maps.Keys(completions())) {
				fmt.Fprintln(a.Stdout, shell)
			}
		},
		Action: func(c *cli.Context) error {
			shell, err := oneArg(c.Args().Slice(), "shell")
			if err != nil {
				return err
			}
			text, ok := completions()[shell]
			if !ok {
				return refusal.New("use bash, zsh or fish", "unknown shell %q", shell)
			}
			_, err = fmt.Fprint(a.Stdout, text)
			return err
		},
	}
}

func (a *App) manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page (forge man | man -l -)",
		Action: func(*cli.Context) error {
			text, err := a.command().ToManWithSection(1)
			if err != nil {
				return fmt.Errorf("make the manual page: %w", err)
			}
			_, err = fmt.Fprint(a.Stdout, text)
			return err
		},
	}
}
