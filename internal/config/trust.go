package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/text"
)

// SecretName tells by its name whether a variable holds a secret.
func SecretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

// vendor is what a built-in agent kind holds by itself and where that belongs.
type vendor struct {
	command string // the program that is the kind's own
	prefix  []string
	hosts   []string
}

func vendorOf(kind string) (vendor, bool) {
	v, ok := map[string]vendor{
		"claude":   {"claude", []string{"ANTHROPIC_", "CLAUDE_"}, []string{"anthropic.com", "claude.ai"}},
		"codex":    {"codex", []string{"OPENAI_", "CODEX_"}, []string{"openai.com", "chatgpt.com"}},
		"gemini":   {"gemini", []string{"GEMINI_", "GOOGLE_"}, []string{"googleapis.com", "google.com"}},
		"opencode": {"opencode", []string{"OPENCODE_", "ANTHROPIC_", "OPENAI_", "GEMINI_"}, []string{"opencode.ai"}},
	}[kind]
	return v, ok
}

// vendorHosts are the hosts of the vendor that a secret belongs to by its name.
func vendorHosts(secret string) []string {
	var out []string
	for _, kind := range []string{"claude", "codex", "gemini"} {
		v, _ := vendorOf(kind)
		for _, p := range v.prefix {
			if strings.HasPrefix(strings.ToUpper(secret), p) {
				out = append(out, v.hosts...)
			}
		}
	}
	for prefix, host := range map[string]string{
		"GITHUB_": "github.com", "GH_": "github.com", "GITLAB_": "gitlab.com", "DEEPSEEK_": "deepseek.com", "GROQ_": "groq.com", "MISTRAL_": "mistral.ai", "OPENROUTER_": "openrouter.ai", "TOGETHER_": "together.xyz", "XAI_": "x.ai",
	} {
		if strings.HasPrefix(strings.ToUpper(secret), prefix) {
			out = append(out, host)
		}
	}
	return out
}

// CheckTrust finds secrets that a project's configuration would send where
// neither the user nor the secret's vendor wants them. What the user's own
// configuration, the environment or a flag says is trusted. A project may not
//
//   - hand a secret to a command of its own choice: an exec agent, an acp
//     server, or another program in the place of a built-in kind's own;
//   - hand an agent a secret of somebody else;
//   - work in another checkout than its own ([workspace]): whoever wrote it could
//     have read and changed there what the sandbox keeps out of sight;
//   - point an agent or [llm] that holds secrets at a host that is neither the
//     vendor's nor loopback.
//
// The user grants a secret to one project by [trust.projects."<checkout>"] env,
// a checkout by its repositories, and a host by [trust] hosts.
func CheckTrust(cfg *Config) []Problem {
	c := &collector{}
	for _, l := range cfg.layers {
		if l.kind != layerProject {
			continue
		}
		for _, name := range sortedKeys(l.said.Agents) {
			cfg.checkAgentTrust(c, l, name)
		}
		if cmd := l.said.Project.ClaudeCmd; cmd != nil && *cmd != "claude" {
			cfg.checkReplaced(c, l, "claude", []string{*cmd}, "project", "claude_cmd")
		}
		cfg.checkLLMTrust(c, l)
		cfg.checkHostTrust(c, l)
		cfg.checkWorkspaceTrust(c, l)
	}
	return c.problems
}

const trustCommand = "forge trust"

// checkWorkspaceTrust looks at the checkouts that the project's file names.
func (c *Config) checkWorkspaceTrust(col *collector, l *layer) {
	for _, name := range sortedKeys(l.said.Workspace.Repositories) {
		b, _ := c.Beside(name)
		if b.Path == "" || c.trustsCheckout(b.Path) {
			continue
		}
		path := []string{"workspace", "repositories", name, "path"}
		col.add(l.file, l.index.find(path), fmt.Sprintf("%s names a checkout of yours, %s", dotted(path), text.Clip(b.Path, mostQuoted)),
			fmt.Sprintf("if agents of this project may work there, allow it with %s %s, which writes it into [trust.projects.%s] of your configuration", trustCommand, quotePath(b.Path), quoteString(c.Root)))
	}
}

// trustsCheckout says that the user lets this project work in the checkout at path.
func (c *Config) trustsCheckout(path string) bool {
	for root, p := range c.File.Trust.Projects {
		if resolved(root) == resolved(c.Root) && slices.ContainsFunc(c.homePaths(p.Repositories), func(one string) bool { return resolved(one) == resolved(path) }) {
			return true
		}
	}
	return false
}

// quotePath is a path as a shell takes it.
func quotePath(path string) string {
	if !strings.ContainsAny(path, " '\"\\$`&;|<>()*?[]!~#\t\n") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// checkAgentTrust looks at what one entry of the project's file does to the
// agent, whoever wrote the rest of it.
func (c *Config) checkAgentTrust(col *collector, l *layer, name string) {
	mine, merged := l.said.Agents[name], c.File.Agents[name]
	kind := agentKind(name, merged)
	v, builtin := vendorOf(kind)
	path := []string{"agents", name}
	bad := func(key, what, fix string) {
		at := append(append([]string{}, path...), key)
		col.add(l.file, l.index.find(at), dotted(at)+" "+what, fix)
	}
	// The file decides where secrets go when it says the command, names the
	// secret, or makes this agent what it is.
	for _, secret := range merged.Env {
		if !SecretName(secret) || c.grants(secret) || !slices.Contains(mine.Env, secret) && mine.Command == nil && mine.Kind == nil {
			continue
		}
		belongs := builtin && slices.ContainsFunc(v.prefix, func(p string) bool { return strings.HasPrefix(strings.ToUpper(secret), p) })
		if !belongs {
			bad("env", fmt.Sprintf("gives %s to a command that the project chose", secret), c.grantFix(secret))
		}
	}
	if !builtin {
		return
	}
	if mine.Command != nil && (len(mine.Command) != 1 || mine.Command[0] != v.command) {
		c.checkReplaced(col, l, kind, mine.Command, "agents", name, "command")
	}
	for _, variable := range sortedKeys(mine.SetEnv) {
		address := addressIn().FindString(mine.SetEnv[variable])
		if aims(variable, v.prefix) {
			address = mine.SetEnv[variable]
		} else if !slices.ContainsFunc(v.prefix, func(p string) bool { return strings.HasPrefix(strings.ToUpper(variable), p) }) {
			address = ""
		}
		if host := c.foreignHost(address, v.hosts); host != "" {
			bad("set_env", fmt.Sprintf("sends what %s holds to %s by %s", kind, host, variable), hostFix(host))
		}
		if loads(variable) {
			bad("set_env", fmt.Sprintf("loads code into %s, which holds secrets, by %s", kind, variable), "remove it, or set it in the user's configuration")
		}
	}
	for _, arg := range mine.Args {
		for _, u := range addressIn().FindAllString(arg, -1) {
			if host := c.foreignHost(u, v.hosts); host != "" {
				bad("args", fmt.Sprintf("name %s, where what %s holds could go", host, kind), hostFix(host))
			}
		}
	}
}

// checkReplaced refuses another program in the place of a kind's own, which
// would get the kind's login and keys.
func (c *Config) checkReplaced(col *collector, l *layer, kind string, command []string, path ...string) {
	v, _ := vendorOf(kind)
	if c.grants(v.prefix[0] + "*") {
		return
	}
	col.add(l.file, l.index.find(path), fmt.Sprintf("%s gives what %s holds (keys, login) to %s", dotted(path), kind, text.Clip(strings.Join(command, " "), mostQuoted)),
		fmt.Sprintf("if you trust it, allow it with %s %s, which writes it into [trust.projects.%s] of your configuration; or set the command there",
			trustCommand, quotePath(v.prefix[0]+"*"), quoteString(c.Root)))
}

func (c *Config) checkLLMTrust(col *collector, l *layer) {
	llm := c.File.LLM
	secret := said(llm.APIKeyEnv)
	if secret == "" || said(llm.BaseURL) == "" || l.said.LLM.BaseURL == nil && l.said.LLM.APIKeyEnv == nil {
		return
	}
	if host := c.foreignHost(*llm.BaseURL, vendorHosts(secret)); host != "" && !c.userAsks(*llm.BaseURL) {
		key := []string{"llm", "base_url"}
		if l.said.LLM.BaseURL == nil {
			key[1] = "api_key_env"
		}
		col.add(l.file, l.index.find(key), fmt.Sprintf("llm sends %s to %s", secret, host), hostFix(host))
	}
}

// userAsks says that somebody other than the project named the service at this
// address.
func (c *Config) userAsks(address string) bool {
	at, err := url.Parse(address)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(c.layers, func(l *layer) bool {
		u, err := url.Parse(said(l.said.LLM.BaseURL))
		return l.kind != layerProject && err == nil && u.Host != "" && u.Scheme == at.Scheme && strings.EqualFold(u.Host, at.Host)
	})
}

// grants says that the user lets commands of this project have the secret.
func (c *Config) grants(secret string) bool {
	for root, p := range c.File.Trust.Projects {
		if resolved(root) != resolved(c.Root) {
			continue
		}
		for _, name := range p.Env {
			prefix, open := strings.CutSuffix(name, "*")
			if name == secret || open && strings.HasPrefix(secret, prefix) {
				return true
			}
		}
	}
	return false
}

func (c *Config) grantFix(secret string) string {
	return fmt.Sprintf("if you trust it, allow it with %s %s, which writes it into [trust.projects.%s] of your configuration",
		trustCommand, quotePath(secret), quoteString(c.Root))
}

func hostFix(host string) string {
	return fmt.Sprintf("if you trust it, allow it with %s %s, which adds it to [trust] hosts of your configuration", trustCommand, host)
}

var addressIn = text.Lazy(`(?i)\b(?:https?|wss?|socks[45]?h?)://[^\s"'<>,;]+`)

// aims says that a program which holds secrets reads an address from the
// variable: a proxy, or its service.
func aims(variable string, vendorPrefixes []string) bool {
	upper := strings.ToUpper(variable)
	for _, end := range []string{"_PROXY", "_BASE_URL", "API_BASE", "API_URL", "_ENDPOINT"} {
		if strings.HasSuffix(upper, end) {
			return true
		}
	}
	return slices.ContainsFunc(vendorPrefixes, func(p string) bool { return strings.HasPrefix(upper, p) }) &&
		(strings.Contains(upper, "URL") || strings.Contains(upper, "HOST") || strings.Contains(upper, "URI"))
}

// foreignHost is the host that an address points at, when it is neither
// loopback nor one that the vendor or the user owns; "" otherwise. An address
// that cannot be read is foreign.
func (c *Config) foreignHost(address string, own []string) string {
	if address == "" {
		return ""
	}
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return text.Clip(address, mostQuoted)
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() || host == "localhost" {
		return ""
	}
	for _, l := range c.layers {
		for _, t := range l.said.Trust.Hosts {
			if t = strings.ToLower(t); l.kind != layerProject && (t == host || t == strings.ToLower(u.Host)) {
				return ""
			}
		}
	}
	for _, o := range own {
		if u.Scheme == "https" && (host == o || strings.HasSuffix(host, "."+o)) {
			return ""
		}
	}
	return u.Host
}

// loads names the variables by which a program is made to run foreign code or
// to believe a foreign certificate.
func loads(variable string) bool {
	switch strings.ToUpper(variable) {
	case "PATH", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"BUN_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "ENV", "HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME":
		return true
	}
	upper := strings.ToUpper(variable)
	return strings.HasPrefix(upper, "LD_") || strings.HasPrefix(upper, "DYLD_")
}

// TrustEntry is the text that grants a secret to the commands of a project, lets it
// work in another checkout, or lets secrets go to a host, to be added to the user's configuration.
func TrustEntry(root, secret string) string {
	if TrustsPath(secret) {
		return fmt.Sprintf("[trust.projects.%s]\nrepositories = [%s]\n", quoteString(filepath.Clean(root)), quoteString(trustedPath(root, secret)))
	}
	if TrustsHost(secret) {
		return fmt.Sprintf("[trust]\nhosts = [%s]\n", quoteString(secret))
	}
	return fmt.Sprintf("[trust.projects.%s]\nenv = [%s]\n", quoteString(filepath.Clean(root)), quoteString(secret))
}

// Secrets are the secrets that a user wrote into set_env.
func (c *Config) Secrets() []string {
	var secrets []string
	for _, ag := range c.File.Agents {
		for name, value := range ag.SetEnv {
			if SecretName(name) && value != "" {
				secrets = append(secrets, value)
			}
		}
	}
	return secrets
}
