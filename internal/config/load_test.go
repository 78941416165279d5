package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const userFix = "set it in the user's configuration, config.toml in the folder forge below $XDG_CONFIG_HOME or ~/.config"

func TestBadForgeTOML(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"unknown section", "[defalts]\nbudget = 3\n", []string{`1: unknown key defalts in forge.toml (did you mean "defaults"?)`}},
		{"unknown key", "[defaults]\n\nbugdet = 3\n", []string{`3: unknown key bugdet in [defaults] (did you mean "budget"?)`}},
		{"unknown key of a named table", "[agents.mine]\nkind = \"exec\"\ncommand = [\"./a\"]\ncomand = []\n", []string{`4: unknown key comand in [agents.mine] (did you mean "command"?)`}},
		{"unknown key in a list of tables", "[[reviews.specialists]]\ntype = \"security\"\n[[reviews.specialists]]\ntipe = \"x\"\n", []string{`4: unknown key tipe in [reviews.specialists[1]] (did you mean "type"?)`}},
		{"unknown key in an inline table", "agents.mine = { kind = \"exec\", command = [\"a\"],\n mdel = \"x\" }\n", []string{`2: unknown key mdel in [agents.mine] (did you mean "model"?)`}},
		{"wrong types", "[defaults]\nbudget = \"8\"\nfail_fast = 1\n[verify]\ncommands = \"make\"\n[cost]\nrun_usd = true\n[agent]\nuse = 3\n", []string{
			"2: defaults.budget is a string, want an integer (write digits without quotes)",
			"3: defaults.fail_fast is an integer, want true or false (write true or false without quotes)",
			`5: verify.commands is a string, want a list of strings (write ["…", "…"])`,
			"7: cost.run_usd is true or false, want a number (write a number without quotes)",
			"9: agent.use is an integer, want a string or list of strings (write it in quotes)",
		}},
		{"wrong element", "[verify]\ncommands = [\n  \"make\",\n  7,\n]\n", []string{"4: verify.commands[1] is an integer, want a string (write it in quotes)"}},
		{"a value for a table", "agents = 3\ndefaults = []\n", []string{
			"1: agents is an integer, want named tables (write [agents])",
			"2: defaults is a list, want a table (write [defaults])",
		}},
		{"numbers out of range", "[defaults]\nbudget = 0\nmax_parallel = -1\n[cost]\nrun_usd = -2.5\nphase_usd = 0\nday_usd = nan\niteration_usd = inf\nrun_tokens = 0\n[reviews]\nconfidence_threshold = 1.5\n[limits]\niteration_secs = 0\ndrain_secs = -1\n", []string{
			"2: defaults.budget is 0 (use 1 or more)",
			"3: defaults.max_parallel is -1 (use 1 or more)",
			"5: cost.run_usd is -2.5 (use more than 0, or remove the key for no cap)",
			"6: cost.phase_usd is 0 (use more than 0, or remove the key for no cap)",
			"7: cost.day_usd is NaN (write a finite number)",
			"8: cost.iteration_usd is +Inf (write a finite number)",
			"9: cost.run_tokens is 0 (use 1 or more)",
			"11: reviews.confidence_threshold is 1.5 (use 1 or less)",
			"13: limits.iteration_secs is 0 (use 1 or more)",
			"14: limits.drain_secs is -1 (use 1 or more)",
		}},
		{"bad globs", "[phases.overrides.\"db-[\"]\nbudget = 2\n[autonomy.sensitive_patterns]\npatterns = [\"ok-*\", \"{a\"]\n[worktree]\ncopy = [\"../x\", \"\"]\n[verify]\nprotected = [\"@tset\"]\n", []string{
			"1: phases.overrides.\"db-[\" is not a glob: compile \"db-[\": syntax error at 4: unexpected end of input (write such as \"database-*\"; \\ before [ { * ? takes them literally)",
			"4: autonomy.sensitive_patterns.patterns[1] is not a glob: compile \"{a\": syntax error at 2: unclosed `{` (write such as \"database-*\"; \\ before [ { * ? takes them literally)",
			`6: worktree.copy[0] is "../x": it leaves the checkout (write a path below the checkout, such as "src/*.go" or ".github/**")`,
			`6: worktree.copy[1] is "": it is empty (write a path below the checkout, such as "src/*.go" or ".github/**")`,
			`8: verify.protected[0] is "@tset": unknown word (write a glob below the checkout, "@default" or "@tests")`,
		}},
		{"unknown words", "[defaults]\npermission_mode = \"standart\"\n[autonomy]\nlevel = \"autonomus\"\n[agents.x]\nkind = \"exce\"\n[reviews]\nmode = \"manuel\"\n", []string{
			`2: defaults.permission_mode is "standart" (did you mean "standard"?)`,
			`4: autonomy.level is "autonomus", which is no preset (did you mean "full"?)`,
			`6: agents.x.kind is "exce" (did you mean "exec"?)`,
			`8: reviews.mode is "manuel" (did you mean "manual"?)`,
		}},
		{"agents without what they need", "[agents.mine]\nmodel = \"m\"\n[agents.cmd]\nkind = \"exec\"\n[agents.dry]\nkind = \"script\"\n[agents.none]\nkind = \"exec\"\ncommand = []\n", []string{
			`1: agents.mine has no kind (write kind = "exec" for a command of your own, or one of claude, codex, opencode, gemini, acp, exec, script)`,
			`3: agents.cmd has no command (write command = ["./agent.sh"])`,
			`5: agents.dry has no file (write file = "script.toml")`,
			`9: agents.none.command is an empty list (name at least one, or remove the key)`,
		}},
		{"variables", "[agents.claude]\nenv = [\"A B\", \"FORGE_LEASE\"]\nset_env = { \"1X\" = \"a\", API_TOKEN = \"abc\" }\n", []string{
			`2: agents.claude.env[0] names "A B", which is not a variable (write letters, digits and _)`,
			`2: agents.claude.env[1] names "FORGE_LEASE"; variables that begin with FORGE_ are Forge's own (choose another name)`,
			`3: agents.claude.set_env holds a value for API_TOKEN, which is named like a secret (name it in env and set it in the environment)`,
			`3: agents.claude.set_env.1X names "1X", which is not a variable (write letters, digits and _)`,
		}},
		{"one price", "[agents.claude]\nusd_per_mtok_in = 3\n", []string{"1: agents.claude has one price of two (set both usd_per_mtok_in and usd_per_mtok_out)"}},
		{"what only the user sets", "[autonomy]\nceiling = \"autonomous\"\n[sandbox]\nmode = \"off\"\nnetwork = true\nwrite = [\"/tmp\"]\n[trust]\nhosts = [\"x\"]\n[trust.projects.\"/x\"]\nenv = [\"A\"]\n", []string{
			"2: autonomy.ceiling cannot be set by a project (" + userFix + ")",
			`4: sandbox.mode cannot be set by a project (a project may only say "required"; ` + userFix + ")",
			`5: sandbox.network cannot be set by a project (a project may only say false, or name hosts; ` + userFix + ")",
			"6: sandbox.write cannot be set by a project (" + userFix + ")",
			"8: trust.hosts cannot be set by a project (" + userFix + ")",
			"9: trust.projects cannot be set by a project (" + userFix + ")",
		}},
		{"waiver beside commands", "[verify]\ncommands = [\"make\"]\nnone = true\n", []string{"3: verify.none waives proof, but verify.commands are set (remove one of them)"}},
		{"durations, limits, hosts", "[agent]\noutage_wait = \"soon\"\n[defaults]\ncontext_limit = \"150%\"\n[llm]\nbase_url = \"host\"\n", []string{
			`2: agent.outage_wait is "soon", not a time (write "30m" or "2h", at most "720h")`,
			`4: defaults.context_limit is "150%" (write tokens ("120000"), a share ("80%"), or "")`,
			`6: llm.base_url is "host", not an address (write such as "https://host/v1")`,
		}},
		{"broken TOML", "[defaults]\nbudget = 3\nbudget = = 4\n", []string{"3: broken TOML: expected value but found '=' instead (correct the TOML there)"}},
		{"key twice", "[defaults]\nbudget = 3\nbudget = 4\n", []string{"3: broken TOML: Key 'defaults.budget' has already been defined. (correct the TOML there)"}},
		{"text without end", "a = [\n1,\n", []string{"2: broken TOML: unexpected EOF; expected value (correct the TOML there)"}},
		{"deep keys", strings.Repeat("a.", 30000) + "b = 1\n", []string{"1: nested deeper than 32 levels (write it flatter)"}},
		{"deep lists", "x = 1\ny = " + strings.Repeat("[", 30000), []string{"2: nested deeper than 32 levels (write it flatter)"}},
		{"deep tables", "y = " + strings.Repeat("{a=", 30000), []string{"1: nested deeper than 32 levels (write it flatter)"}},
		{"not UTF-8", "[project]\nname = \"\xff\"\n", []string{"2: is not UTF-8 text (save it as UTF-8)"}},
		{"planning beside another level", "[autonomy]\nlevel = \"interactive\"\n[planning]\ninteractive = true\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := load(t, tt.text)
			if tt.want == nil {
				if err == nil {
					t.Fatal("accepted")
				}
				return
			}
			var problems *Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error is %v, want *Problems", err)
			}
			var want []string
			for _, w := range tt.want {
				want = append(want, ProjectFile+":"+w)
			}
			if got := err.Error(); got != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

func TestUnreadableFiles(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"a folder", func(t *testing.T, path string) { must(t, os.MkdirAll(path, 0o755)) }, "is a folder, not a file (remove it or write the file in its place)"},
		{"a pipe", func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o644)) }, "is not a regular file (write a plain text file in its place)"},
		{"too large", func(t *testing.T, path string) { write(t, path, strings.Repeat("#", MaxTOMLBytes+1)) }, "has 1048577 bytes, Forge reads at most 1048576 (make it smaller)"},
		{"a link that leaves the checkout", func(t *testing.T, path string) {
			outside := filepath.Join(t.TempDir(), "x.toml")
			write(t, outside, "")
			must(t, os.Symlink(outside, path))
		}, "cannot be read: path escapes from parent (a link must not lead out of the checkout)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, ".forge"), 0o755))
			tt.make(t, filepath.Join(dir, ProjectFile))
			_, _, err := Load(Sources{ProjectDir: dir})
			if err == nil || err.Error() != ProjectFile+": "+tt.want {
				t.Errorf("got  %v\nwant %s: %s", err, ProjectFile, tt.want)
			}
		})
	}
	t.Run("no permission", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root reads everything")
		}
		dir := project(t, map[string]string{ProjectFile: ""})
		must(t, os.Chmod(filepath.Join(dir, ProjectFile), 0))
		_, _, err := Load(Sources{ProjectDir: dir})
		if err == nil || !strings.Contains(err.Error(), "make it readable") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a file in place of .forge", func(t *testing.T) {
		dir := project(t, map[string]string{".forge": "x"})
		if _, _, err := Load(Sources{ProjectDir: dir}); err == nil || !strings.Contains(err.Error(), "not a directory") {
			t.Errorf("got %v", err)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestProblemsOfAllFilesTogether(t *testing.T) {
	dir := project(t, map[string]string{ProjectFile: "[defaults]\nbudget = 0\n"})
	user := filepath.Join(t.TempDir(), "config.toml")
	write(t, user, "x = 1\n[agents.mine]\nkind = \"exec\"\ncommand = [\"./run\"]\n")
	_, _, err := Load(Sources{
		ProjectDir: dir, UserFile: user,
		Environ: []string{"FORGE_MAX_PARALLEL=many", "FORGE_AUTONOMY=wild", "FORGE_SKIP_PERMISSIONS=yes"},
		Flags:   []Setting{{Flag: "--budget", Key: "defaults.budget", Value: "-3"}, {Flag: "--x", Key: "defaults.nope", Value: "1"}},
	})
	want := strings.Join([]string{
		user + ":1: unknown key x in forge.toml (" + suggest("x", keysIn(typeOfFile())) + ")",
		user + ":4: agents.mine.command is a relative path in the user's configuration (write an absolute path, or a name found in PATH)",
		".forge/forge.toml:2: defaults.budget is 0 (use 1 or more)",
		`FORGE_SKIP_PERMISSIONS: defaults.skip_permissions is "yes", want true or false (write true or false)`,
		`FORGE_MAX_PARALLEL: defaults.max_parallel is "many", want digits (write digits)`,
		"--budget: defaults.budget is -3 (use 1 or more)",
		"--x: sets the unknown key defaults.nope (" + suggest("defaults.nope", keyNames()) + ")",
		`FORGE_AUTONOMY: autonomy.level is "wild", which is no preset (` + suggest("wild", presetNames()) + ")",
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestOrderOfSources(t *testing.T) {
	dir := project(t, map[string]string{ProjectFile: "[defaults]\nbudget = 3\nmax_parallel = 3\n[agents.claude]\nmodel = \"project\"\n"})
	user := filepath.Join(t.TempDir(), "config.toml")
	write(t, user, "[defaults]\nbudget = 2\nmax_parallel = 2\nauto_approve_threshold = 2\nfail_fast = true\n[agents.claude]\nmodel = \"user\"\nargs = [\"-x\"]\n[sandbox]\nmode = \"off\"\n")
	cfg, _, err := Load(Sources{
		ProjectDir: dir, UserFile: user, Environ: []string{"FORGE_MAX_PARALLEL=4", "FORGE_BUDGET=", "FORGE_RUN_USD=1.5"},
		Flags: []Setting{
			{Flag: "--auto-approve-threshold", Key: "defaults.auto_approve_threshold", Value: "5"},
			{Flag: "--trust-host", Key: "trust.hosts", Value: "a.example, b.example:8443"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Line{
		{"defaults.budget", "3", ".forge/forge.toml:2"},
		{"defaults.max_parallel", "4", "FORGE_MAX_PARALLEL"},
		{"defaults.auto_approve_threshold", "5", "--auto-approve-threshold"},
		{"defaults.fail_fast", "true", user + ":5"},
		{"defaults.permission_mode", `"standard"`, "default"},
		{"agents.claude.model", `"project"`, ".forge/forge.toml:5"},
		{"agents.claude.args", `["-x"]`, user + ":8"},
		{"cost.run_usd", "1.5", "FORGE_RUN_USD"},
		{"sandbox.mode", `"off"`, user + ":10"},
		{"trust.hosts", `["a.example", "b.example:8443"]`, "--trust-host"},
	} {
		if got := lineOf(cfg, want.Key); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := cfg.Origin(want.Key); got != want.Origin {
			t.Errorf("Origin(%s) = %q, want %q", want.Key, got, want.Origin)
		}
	}
}

func lineOf(cfg *Config, key string) Line {
	for _, l := range cfg.Show() {
		if l.Key == key {
			return l
		}
	}
	return Line{}
}

func TestProjectMayOnlyTightenTheSandbox(t *testing.T) {
	dir := project(t, map[string]string{ProjectFile: "[sandbox]\nmode = \"required\"\nnetwork = false\n"})
	user := filepath.Join(t.TempDir(), "config.toml")
	write(t, user, "[sandbox]\nmode = \"off\"\n")
	cfg, _, err := Load(Sources{ProjectDir: dir, UserFile: user})
	if err != nil {
		t.Fatal(err)
	}
	if mode, net := *cfg.File.Sandbox.Mode, cfg.File.Sandbox.Network; mode != "required" || !net.Off() {
		t.Errorf("mode %s, network %v", mode, net)
	}
}

func TestNothingIsNeeded(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no .forge": {}, "empty file": {ProjectFile: ""}, "byte order mark": {ProjectFile: "\ufeff[defaults]\nbudget = 8\n"},
		"comment": {ProjectFile: "# nothing\r\n"},
	} {
		cfg, warnings, err := Load(Sources{ProjectDir: project(t, files), UserFile: filepath.Join(t.TempDir(), "missing.toml")})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s: %v %v", name, err, warnings)
		}
		if *cfg.File.Defaults.Budget != 8 {
			t.Errorf("%s: budget %d", name, *cfg.File.Defaults.Budget)
		}
	}
}

func TestWarnings(t *testing.T) {
	text := `[project]
name = "old"
claude_cmd = "claude"

[defaults]
permission_mode = "strict"

[phases.overrides."database-*"]
permission_mode = "strict"
council = { enabled = false }

[reviews]
mode = "arbiter"
model = "m"
confidence_threshold = 0.8
escalate_on = ["critical"]
auto_proceed_on = ["style"]

[claude]
session_continuity = true

[council]
enabled = true

[[hooks.definitions]]
event = "PrePhase"
command = "./x.sh"

[decomposition]
enabled = true
budget_threshold = 60
analysis = true
`
	cfg, warnings, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		".forge/forge.toml: not used: claude, decomposition.analysis (these are read and checked, nothing else)",
		`.forge/forge.toml:6: permission_mode "strict" is deprecated: every phase is now sensitive and asks before each iteration (write permission_mode = "standard" and autonomy.sensitive_patterns)`,
		`.forge/forge.toml:9: permission_mode "strict" is deprecated: phases matching "database-*" are now sensitive and ask before each iteration (write permission_mode = "standard" and add the glob to autonomy.sensitive_patterns.patterns)`,
		`.forge/forge.toml:13: reviews.mode "arbiter" is deprecated and means "auto"; model and threshold are kept (write mode = "auto")`,
		".forge/forge.toml:16: reviews.escalate_on is deprecated and dropped (remove it)",
		".forge/forge.toml:17: reviews.auto_proceed_on is deprecated and dropped (remove it)",
		".forge/forge.toml:23: a council has at least 2 workers, and [council.workers] names 0: phases without tries of their own are done once (name another one as [council.workers.NAME])",
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	f := cfg.File
	if *f.Defaults.PermissionMode != "standard" || *f.Reviews.Mode != "auto" || *f.Reviews.Model != "m" || *f.Reviews.ConfidenceThreshold != 0.8 {
		t.Errorf("not mapped: %s", cfg.Render())
	}
	if got := strings.Join(f.Autonomy.SensitivePatterns.Patterns, " "); got != "* database-*" {
		t.Errorf("sensitive patterns %q", got)
	}
}
