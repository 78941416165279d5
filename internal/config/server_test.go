package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestServerIsTheUsersAlone(t *testing.T) {
	for _, line := range []string{`listen = "0.0.0.0:80"`, `roots = ["/"]`, `hosts = ["evil.example"]`, `behind_proxy = true`, `public_url = "https://evil.example"`, `tls_cert = "/x"`} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, ".forge"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".forge", "forge.toml"), []byte("[server]\n"+line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := Load(Sources{ProjectDir: dir})
		if err == nil || !strings.Contains(err.Error(), "cannot be set by a project") {
			t.Errorf("%s in a project: %v", line, err)
		}
	}
}

func TestWhereAServerMayListen(t *testing.T) {
	const tls = "tls_cert = \"/c.pem\"\ntls_key = \"/k.pem\"\n"
	const proxy = "behind_proxy = true\npublic_url = \"https://forge.example.com\"\n"
	for _, c := range []struct {
		name, text, flag string
		users            bool
		refused          string // "" = it may
	}{
		{"by itself", "", "", false, ""},
		{"loopback", `listen = "127.0.0.1:0"`, "", false, ""},
		{"loopback, six", `listen = "[::1]:7433"`, "", false, ""},
		{"localhost", `listen = "localhost:7433"`, "", false, ""},
		{"off", `listen = "off"`, "", false, ""},
		{"everywhere", `listen = ":7433"`, "", true, "without https"},
		{"everywhere by zeros", `listen = "0.0.0.0:7433"`, "", true, "without https"},
		{"everywhere, six", `listen = "[::]:7433"`, "", true, "without https"},
		{"by a name", `listen = "forge.example.com:7433"`, "", true, "without https"},
		{"by flag", "", "0.0.0.0:7433", true, "without https"},
		{"https, nobody", tls + `listen = ":7433"`, "", false, "nobody has a token"},
		{"https", tls + `listen = ":7433"`, "", true, ""},
		{"half of https", `tls_cert = "/c.pem"`, "", true, "belong together"},
		{"proxy", proxy + `listen = ":7433"`, "", true, ""},
		{"proxy, nobody", proxy + `listen = ":7433"`, "", false, "nobody has a token"},
		{"proxy without an address", "behind_proxy = true", "", true, "public_url is not"},
		{"proxy without https", "behind_proxy = true\npublic_url = \"http://forge.example.com\"\nlisten = \":7433\"", "", true, "without https"},
		{"no port", `listen = "127.0.0.1"`, "", false, "not an address"},
		{"no number", `listen = "127.0.0.1:http"`, "", false, "not an address"},
	} {
		file := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(file, []byte("[server]\n"+c.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := Load(Sources{ProjectDir: t.TempDir(), UserFile: file})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, err = cfg.WebServer(c.flag, c.users)
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}

func TestNamesOfAServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	text := "[server]\nlisten = \"127.0.0.5:1\"\npublic_url = \"https://Forge.example.com:8443/x\"\nhosts = [\"Board.local:99\"]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := Load(Sources{ProjectDir: t.TempDir(), UserFile: file})
	if err != nil {
		t.Fatal(err)
	}
	s, err := cfg.WebServer("", false)
	if want := []string{"localhost", "127.0.0.1", "::1", "127.0.0.5", "forge.example.com", "board.local"}; err != nil || !slices.Equal(s.Hosts, want) {
		t.Errorf("%q, %v; want %q", s.Hosts, err, want)
	}
}
