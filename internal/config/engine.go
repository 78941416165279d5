package config

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
)

// Engine is [engine], of the user's configuration.
type Engine struct {
	Kind          *string `toml:"kind" default:"\"embedded\"" doc:"Who drives runs: embedded, the process that was asked to; temporal, a Temporal server and its workers, with the program forge-temporal beside forge." rule:"embedded|temporal" only:"user"`
	Address       *string `toml:"address" default:"\"127.0.0.1:7233\"" doc:"The Temporal server." rule:"host" only:"user"`
	Namespace     *string `toml:"namespace" default:"\"forge\"" doc:"The namespace there; forge-temporal setup makes it." rule:"filled" only:"user"`
	TLS           *bool   `toml:"tls" default:"false" doc:"Speak TLS to the server; with a key or a certificate it is spoken always." only:"user"`
	TLSCA         *string `toml:"tls_ca" doc:"File with the certificate that the server's is signed by, in PEM; the system's are asked where none is named." sample:"\"/etc/forge/ca.pem\"" rule:"abspath" only:"user"`
	TLSCert       *string `toml:"tls_cert" doc:"File with this machine's certificate, in PEM." sample:"\"/etc/forge/temporal.pem\"" rule:"abspath" only:"user"`
	TLSKey        *string `toml:"tls_key" doc:"File with its key, in PEM." sample:"\"/etc/forge/temporal.key\"" rule:"abspath" only:"user"`
	APIKeyEnv     *string `toml:"api_key_env" doc:"Name of the variable that holds the server's API key." sample:"\"TEMPORAL_API_KEY\"" rule:"variable" only:"user"`
	PayloadKeyEnv *string `toml:"payload_key_env" doc:"Name of the variable with 32 bytes, in hexadecimal, by which what stands in histories is encrypted (AES-GCM). Every worker needs the same." sample:"\"TEMPORAL_PAYLOAD_KEY\"" rule:"variable" only:"user"`
	Objects       *string `toml:"objects" doc:"Where git objects of runs are for workers on other machines: a remote of the checkout by its name, an address, or the absolute path of a bare repository. Without, all workers have the checkout's state folder." sample:"\"origin\"" rule:"filled" only:"user"`
	TakeoverSecs  *int    `toml:"takeover_secs" default:"120" doc:"How long the host of a silent worker may take to come back, with the folder of a phase, before another one goes on." rule:"min=1 max=86400" only:"user"`
	Queues        *string `toml:"queues" default:"\"forge\"" doc:"What the names of task queues begin with. Factories that share a namespace need different ones." rule:"filled" only:"user"`
}

// Worker is [worker], of the user's configuration.
type Worker struct {
	Has       []string `toml:"has" default:"[]" doc:"What this machine has that work may require, such as docker, gpu or agent:codex; at most five." rule:"filled" only:"user"`
	Slots     *int     `toml:"slots" default:"4" doc:"How many effects (an iteration, a verify, a merge) it works on at once." rule:"min=1 max=1000" only:"user"`
	DrainSecs *int     `toml:"drain_secs" default:"600" doc:"How long what is under way may go on when the worker is asked to stop; then it is ended and done again elsewhere." rule:"min=0 max=86400" only:"user"`
}

// What drives runs.
const (
	EngineEmbedded = "embedded"
	EngineTemporal = "temporal"
)

// MostHas is how many capabilities a worker may name.
const MostHas = 5

// EngineSettings is [engine], resolved.
type EngineSettings struct {
	Kind, Address, Namespace, Queues string
	Objects                          string // "" = they stay on this machine
	TakeoverSecs                     int
	TLS                              bool
	TLSCA, TLSCert, TLSKey           string
	APIKey, PayloadKey               Secret
}

// WorkerSettings is [worker], resolved.
type WorkerSettings struct {
	Has              []string
	Slots, DrainSecs int
}

// queueWord is what may stand in the name of a queue.
var queueWord = text.Lazy(`^[a-z0-9][a-z0-9_:.-]{0,40}$`)

// checkEngine looks at [engine] and [worker]; only the user's files hold any.
func (c *Config) checkEngine(col *collector) {
	for _, l := range c.layers {
		e, w := l.said.Engine, l.said.Worker
		bad := func(table, key, what, fix string) {
			path := []string{table, key}
			col.add(l.file, l.index.find(path), dotted(path)+" "+what, fix)
		}
		if e.Queues != nil && !queueWord().MatchString(*e.Queues) {
			bad("engine", "queues", "is no beginning of a queue's name", `write small letters, digits, - and _, such as "forge"`)
		}
		if (e.TLSCert == nil) != (e.TLSKey == nil) {
			bad("engine", "tls_cert", "and engine.tls_key belong together", "set both, or neither")
		}
		if e.Objects != nil && HoldsSecret(*e.Objects) {
			bad("engine", "objects", "holds a user or a password", "leave them out: git's own credentials, of a helper or a key, let it in")
		}
		for key, variable := range map[string]*string{"api_key_env": e.APIKeyEnv, "payload_key_env": e.PayloadKeyEnv} {
			if variable != nil && !SecretName(*variable) {
				bad("engine", key, fmt.Sprintf("names %s, which does not look like a secret", *variable), "name a variable with KEY, TOKEN or SECRET in it: only such are kept out of logs")
			}
		}
		words := func(table, key string, all []string) {
			for _, one := range all {
				if !queueWord().MatchString(one) {
					bad(table, key, fmt.Sprintf("names %q, which cannot stand in the name of a queue", text.Clip(one, mostQuoted)), `write such as "docker" or "agent:codex"`)
				}
			}
		}
		words("worker", "has", w.Has)
		words("defaults", "requires", l.said.Defaults.Requires)
		if len(w.Has) > MostHas {
			bad("worker", "has", fmt.Sprintf("names %d capabilities, at most %d are served", len(w.Has), MostHas), "leave out what no project requires")
		}
	}
}

// HoldsSecret says that the address of a repository has somebody's password or token
// in it. The user of an address by ssh is none.
func HoldsSecret(address string) bool {
	scheme, rest, is := strings.Cut(address, "://")
	user, _, has := strings.Cut(rest, "@")
	return is && has && !strings.Contains(user, "/") && (scheme != "ssh" || strings.Contains(user, ":"))
}

// checkRequires looks at what phases require.
func (c *Config) checkRequires(col *collector) {
	for _, o := range c.overrides {
		for i, one := range o.said.Requires {
			if !queueWord().MatchString(one) {
				at := o.all.find([]string{"phases", "overrides", o.glob, "requires", element(i)})
				col.add(o.file, at, fmt.Sprintf("phases.overrides.%q.requires names %q, which cannot stand in the name of a queue", o.glob, text.Clip(one, mostQuoted)), `write such as "docker" or "agent:codex"`)
			}
		}
	}
}

// Requires is what a worker needs to have for phases, by their numbers, and by "" for
// what belongs to none. More than any worker may have is taken by none, and said then.
func (c *Config) Requires(names map[string]string) map[string][]string {
	all := map[string][]string{"": slices.Clone(c.File.Defaults.Requires)}
	for number, name := range names {
		needs := slices.Concat(c.File.Defaults.Requires, c.overridesOf(name).Requires)
		slices.Sort(needs)
		all[number] = slices.Compact(needs)
	}
	return all
}

// Engine is what [engine] says, with secrets from the environment. The error is
// *Problems: a secret is missing.
func (c *Config) Engine() (EngineSettings, error) {
	f := c.File.Engine
	set := EngineSettings{
		Kind: said(f.Kind), Address: said(f.Address), Namespace: said(f.Namespace), Queues: said(f.Queues),
		Objects: said(f.Objects), TakeoverSecs: said(f.TakeoverSecs),
		TLSCA: c.home(said(f.TLSCA)), TLSCert: c.home(said(f.TLSCert)), TLSKey: c.home(said(f.TLSKey)),
		APIKey: Secret{said(f.APIKeyEnv), strings.TrimSpace(c.environ[said(f.APIKeyEnv)])},

		PayloadKey: Secret{said(f.PayloadKeyEnv), strings.TrimSpace(c.environ[said(f.PayloadKeyEnv)])},
	}
	set.TLS = said(f.TLS) || set.TLSCA != "" || set.TLSCert != "" || set.APIKey.Name != ""
	col := &collector{}
	missing := func(key string, s Secret) {
		if s.Name != "" && s.Value == "" {
			file, at := c.where("engine", key)
			col.add(file, at, fmt.Sprintf("engine.%s names %s, which is not set", key, s.Name), "set "+s.Name+", or leave the key out")
		}
	}
	missing("api_key_env", set.APIKey)
	missing("payload_key_env", set.PayloadKey)
	return set, col.err()
}

// Worker is what [worker] says.
func (c *Config) Worker() WorkerSettings {
	f := c.File.Worker
	return WorkerSettings{Has: slices.Clone(f.Has), Slots: said(f.Slots), DrainSecs: said(f.DrainSecs)}
}
