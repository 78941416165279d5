package cli

import "testing"

func TestFlagRefusal(t *testing.T) {
	names := []string{"autonomous", "output", "o", "budget"}
	tests := []struct{ said, command, want string }{
		{"flag provided but not defined: -autonomus", "forge run", "unknown flag --autonomus (did you mean --autonomous?)"},
		{"flag provided but not defined: -nothing-like-it", "forge run", "unknown flag --nothing-like-it (forge help run lists its flags)"},
		{"flag provided but not defined: -z", "forge job start", "unknown flag -z (forge help job start lists its flags)"},
		{"flag provided but not defined: -count-of-lines", "forge do", "unknown flag --count-of-lines (put the text into quotes; forge help do lists its flags)"},
		{"flag provided but not defined: -nonsense", "forge", "unknown flag --nonsense (forge help lists its flags)"},
		{"flag needs an argument: -o", "forge run", "-o needs a value (forge help run lists its flags)"},
		{`invalid value "soon" for flag -deadline: parse error`, "forge run", `--deadline "soon" is neither a number nor a time such as 90s or 720h (forge help run lists its flags)`},
		{"something else", "forge run", "something else (forge help run lists its flags)"},
	}
	for _, tt := range tests {
		if got := flagRefusal(tt.said, names, tt.command).Error(); got != tt.want {
			t.Errorf("flagRefusal(%q) = %q, want %q", tt.said, got, tt.want)
		}
	}
}

// A mistyped flag or command is answered with the one that was meant.
func TestDidYouMean(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.forge("run", "--autonomus").want(exitUsage).warns("unknown flag --autonomus (did you mean --autonomous?)")
	w.forge("job", "start", "--desciption", "x").want(exitUsage).warns("unknown flag --desciption (did you mean --description?)")
	w.forge("--quite").want(exitUsage).warns("unknown flag --quite (did you mean --quiet?)")
	w.forge("status", "--verbos").want(exitUsage).warns("did you mean --verbose?")
	w.forge("run", "--deadline").want(exitUsage).warns("--deadline needs a value")
	w.forge("run", "--deadline", "soon").want(exitUsage).warns(`--deadline "soon" is neither a number nor a time such as 90s`)
	w.forge("do", "--agent", "nobody", "it").want(exitUsage).warns(`forge: --agent: unknown agent "nobody"`)
	w.forge("do", "Add", "--count-words", "to", "wc").want(exitUsage).warns("put the text into quotes")
	w.forge("policy", "compre").want(exitUsage).warns(`unknown command "policy compre"; did you mean compare?`)
	w.forge("config", "validat").want(exitUsage).warns(`unknown command "config validat"; did you mean validate?`)
	w.forge("factory", "paus").want(exitUsage).warns(`unknown command "factory paus"; did you mean pause?`)
}

// Two words that people try first.
func TestAliases(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.plan(phase("01", "first", 1))
	w.forge("config", "check").want(exitDone).says("ok")
	diff := w.forge("policy", "diff", "full", "review").want(exitDone)
	if got := w.forge("policy", "compare", "full", "review").want(exitDone); got.stdout != diff.stdout || got.stdout == "" {
		t.Errorf("policy compare says %q, policy diff %q", got.stdout, diff.stdout)
	}
}

// Help for a command is what the command says of itself, and that of the program
// begins with what to start with.
func TestHelpIsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, words := range [][]string{{"policy"}, {"run"}, {"job", "start"}, {"help"}} {
		asked := w.forge(append(append([]string{}, words...), "--help")...).want(exitDone)
		if got := w.forge(append([]string{"help"}, words...)...).want(exitDone); got.stdout != asked.stdout || got.stdout == "" {
			t.Errorf("forge help %v says\n%s\nforge %v --help\n%s", words, got.stdout, words, asked.stdout)
		}
	}
	order(t, w.forge("help").want(exitDone).stdout, "Start:", "\n   do ", "\n   run ", "While it works:", "Answer:", "Factory:", "Automate:", "Understand:", "Flags of every command:", "--quiet, -q")
}

// The version is told wherever it is asked for, and nothing else is done.
func TestVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	want := w.forge("version").want(exitDone).says("forge ").stdout
	for _, args := range [][]string{{"--version"}, {"run", "--version"}, {"--quiet", "--version"}} {
		if got := w.forge(args...).want(exitDone); got.stdout != want || got.stderr != "" {
			t.Errorf("forge %v: %q, %q; want %q", args, got.stdout, got.stderr, want)
		}
	}
}

// What begins with a dash and holds blanks is a text, not a flag.
func TestTextThatBeginsWithADash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.forge("do", "--dry-run", "--count for wc = twice").want(exitDone).says("count-for-wc-twice")
	w.forge("do", "--dry-run", "--verify=go test ./...", "Count words").want(exitDone).says("count-words", "go test ./...")
	w.forge("do", "--count for wc", "--dry-run").want(exitDone).says("count-for-wc")
}
