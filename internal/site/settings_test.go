package site_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	pages "forge/factory/web"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/site"
	"forge/internal/work"
)

const (
	before = "[verify]\ncommands = [\"true\"]\n"
	ofUser = "[agents.mine]\nkind = \"exec\"\ncommand = [\"agent\"]\nset_env = { API_TOKEN = \"hush-hush\" }\n"
)

func open(t *testing.T) (s *site.Settings, file string) {
	t.Helper()
	root := t.TempDir()
	file = filepath.Join(root, ".forge", "forge.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	environ := []string{"XDG_CONFIG_HOME=" + t.TempDir()}
	user := config.UserFile(environ)
	if err := errors.Join(os.MkdirAll(filepath.Dir(user), 0o755), os.WriteFile(user, []byte(ofUser), 0o600)); err != nil {
		t.Fatal(err)
	}
	return &site.Settings{Env: project.Env{Log: log.New(io.Discard), Now: time.Now, Environ: environ, Dir: root}, Root: root}, file
}

func text(t *testing.T, file string) string {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// What holds is listed with its meaning, secrets taken out; a file is changed whole,
// when it can be used and nobody else changed it.
func TestSettings(t *testing.T) {
	t.Parallel()
	s, file := open(t)
	now, err := s.Read(t.Context())
	if err != nil || len(now.Problems) > 0 || now.Text != before {
		t.Fatalf("read: %+v %v", now, err)
	}
	said := map[string]pages.Setting{}
	for _, v := range now.Values {
		said[v.Key] = v
	}
	if v := said["verify.commands"]; v.Value != `["true"]` || v.Doc == "" || !v.Said() {
		t.Errorf("verify.commands: %+v", v)
	}
	if v := said["agents.mine.command"]; v.Value == "" || v.Doc == "" {
		t.Errorf("the user's own configuration counts too: %+v", v)
	}
	for _, v := range now.Values {
		if strings.Contains(v.Value, "hush-hush") {
			t.Errorf("%s shows a secret", v.Key)
		}
	}

	var bad *pages.BadSettings
	if err := s.Write(t.Context(), "[verify]\ncomands = [\"x\"]\n\n[cost]\nrun_usd = \"much\"\n", now.Sum, "olga"); !errors.As(err, &bad) {
		t.Fatalf("a file with mistakes: %v", err)
	}
	if all := bad.Error(); !strings.Contains(all, "forge.toml:2") || !strings.Contains(all, "forge.toml:5") {
		t.Errorf("not every mistake is named with its line: %s", all)
	}
	if text(t, file) != before {
		t.Error("a refused change was written")
	}

	const after = "[verify]\ncommands = [\"make test\"]\n"
	if err := s.Write(t.Context(), after, "another sum", "olga"); !errors.Is(err, work.ErrStale) {
		t.Errorf("over the change of somebody else: %v", err)
	}
	if err := s.Write(t.Context(), after, now.Sum, "olga"); err != nil {
		t.Fatal(err)
	}
	if text(t, file) != after {
		t.Errorf("written is %q", text(t, file))
	}
	if err := s.Write(t.Context(), before, now.Sum, "rosa"); !errors.Is(err, work.ErrStale) {
		t.Errorf("what was seen before the last change still counts: %v", err)
	}
}

// A project without the file gets one; a broken one is shown with its problems.
func TestSettingsWithoutAFile(t *testing.T) {
	t.Parallel()
	s, file := open(t)
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	now, err := s.Read(t.Context())
	if err != nil || now.Text != "" {
		t.Fatalf("read: %+v %v", now, err)
	}
	if err := s.Write(t.Context(), "[cost]\nrun_usd = 5.0\n", now.Sum, "olga"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[cost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if now, err = s.Read(t.Context()); err != nil || len(now.Problems) == 0 || len(now.Values) > 0 {
		t.Errorf("a broken file: %+v %v", now, err)
	}
}

// Nothing is written, or read, through a link.
func TestSettingsBehindALink(t *testing.T) {
	t.Parallel()
	s, file := open(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.toml")
	if err := os.WriteFile(elsewhere, []byte("[cost]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(file), os.Symlink(elsewhere, file)); err != nil {
		t.Fatal(err)
	}
	if now, err := s.Read(t.Context()); err == nil && now.Text != "" {
		t.Errorf("a file outside of the checkout was read: %+v", now)
	}
	if err := errors.Join(os.Remove(file), os.Remove(filepath.Dir(file)), os.Symlink(filepath.Dir(elsewhere), filepath.Dir(file))); err != nil {
		t.Fatal(err)
	}
	now, _ := s.Read(t.Context())
	if err := s.Write(t.Context(), "[cost]\nrun_usd = 1.0\n", now.Sum, "olga"); err == nil {
		t.Error("written through a link")
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(elsewhere), "forge.toml")); err == nil {
		t.Error("a file appeared outside of the checkout")
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	s.Env.Environ = append(os.Environ(), s.Env.Environ...)
	got, err := s.Health(t.Context())
	if err != nil || !strings.Contains(got, "✓ git") || !strings.Contains(got, "✗") {
		t.Errorf("%q %v", got, err)
	}
}

const withComments = "# what we run\n[verify]\n  commands = [\"true\"]   # fast\n\n[autonomy]\nlevel = \"review\"\n"

// Single settings are changed in the file as it is: no byte of it is another but
// those of the values, and comments stay. What is not to be is said at its field.
func TestSettingsByFields(t *testing.T) {
	t.Parallel()
	s, file := open(t)
	if err := os.WriteFile(file, []byte(withComments), 0o644); err != nil {
		t.Fatal(err)
	}
	now, err := s.Read(t.Context())
	if err != nil || len(now.Problems) > 0 {
		t.Fatalf("%+v %v", now, err)
	}
	fields := map[string]pages.Field{}
	for _, f := range now.Fields {
		fields[f.Key] = f
		if f.Doc == "" || f.Label == "" || f.Group == "" {
			t.Errorf("a field says nothing: %+v", f)
		}
	}
	if got := fields["autonomy.level"]; got.Value != "review" || got.Choices.Says("review") == "" {
		t.Errorf("level: %+v", got)
	}
	if got := fields["verify.commands"]; got.Value != "true" || !got.Lines {
		t.Errorf("verify: %+v", got)
	}
	if got := fields["defaults.budget"]; got.Value != "" || got.Default != "8" {
		t.Errorf("tries: %+v", got)
	}
	if got := fields["agent.use"]; !strings.Contains(strings.Join(got.Choices.Values(), " "), "claude") || !strings.Contains(strings.Join(got.Choices.Values(), " "), "mine") {
		t.Errorf("agents: %+v", got)
	}

	same := map[string]string{}
	for key, f := range fields {
		same[key] = f.Value
	}
	if got, err := s.Propose(t.Context(), same, now.Sum); err != nil || got != withComments {
		t.Errorf("nothing is changed, and the file is\n%q %v", got, err)
	}
	want := "# what we run\n[verify]\n  commands = [\"make test\", \"go vet ./...\"]   # fast\n\n[autonomy]\nlevel = \"full\"\n\n[cost]\nrun_usd = 2.5\n"
	got, err := s.Propose(t.Context(), map[string]string{"verify.commands": "make test\ngo vet ./...", "autonomy.level": "full", "cost.run_usd": "2.50"}, now.Sum)
	if err != nil || got != want {
		t.Errorf("%v\n%q, want\n%q", err, got, want)
	}
	if text(t, file) != withComments {
		t.Error("what is only proposed was written")
	}

	var bad *pages.BadSettings
	_, err = s.Propose(t.Context(), map[string]string{"cost.run_usd": "much", "defaults.budget": "-1", "verify.timeout_secs": "60"}, now.Sum)
	if !errors.As(err, &bad) || bad.Fields["cost.run_usd"] == "" || bad.Fields["verify.timeout_secs"] != "" {
		t.Errorf("what is no number: %+v", err)
	}
	_, err = s.Propose(t.Context(), map[string]string{"cost.run_usd": "-1", "defaults.budget": "0", "autonomy.level": "ful"}, now.Sum)
	if !errors.As(err, &bad) || bad.Fields["cost.run_usd"] == "" || bad.Fields["defaults.budget"] == "" || !strings.Contains(bad.Fields["autonomy.level"], "full") || len(bad.Problems) > 0 {
		t.Errorf("what breaks rules: %+v", err)
	}
	if _, err := s.Propose(t.Context(), same, "another sum"); !errors.Is(err, work.ErrStale) {
		t.Errorf("over the change of somebody else: %v", err)
	}

	if err := os.WriteFile(file, []byte("verify = { commands = [\"a\\nb\"] }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if now, err = s.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range now.Fields {
		if (f.Key == "verify.commands") != (f.Locked != "") {
			t.Errorf("%s: locked %q", f.Key, f.Locked)
		}
	}
	if _, err := s.Propose(t.Context(), map[string]string{"verify.timeout_secs": "5"}, now.Sum); !errors.As(err, &bad) || !strings.Contains(bad.Fields["verify.timeout_secs"], "change it in the file") {
		t.Errorf("into an inline table: %+v", err)
	}
}
