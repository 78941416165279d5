package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"forge/internal/text"
	"forge/internal/work"
)

func detectGemini(ctx context.Context, a work.AgentSettings, e environ) Detection {
	program := "gemini"
	if len(a.Command) > 0 {
		program = a.Command[0]
	}
	path, ok := e.look(program, a.Checkout)
	if !ok {
		return Detection{LoggedIn: LoginUnknown, Why: program + " is not installed: see https://geminicli.com/docs"}
	}
	l := launch{path: path, names: geminiFacts().names(), set: []string{"GEMINI_CLI_NO_RELAUNCH=true"}}
	version, code, err := ask(ctx, e, a, l, slices.Concat(a.Command[min(1, len(a.Command)):], []string{"--version"})...)
	d := Detection{Path: path, LoggedIn: LoginUnknown}
	if err != nil || code != 0 {
		d.Why = fmt.Sprintf("%s --version does not work", path)
		return d
	}
	d.Found, d.Version = true, firstWord(version)
	d.LoggedIn, d.Why = geminiLogin(a, e)
	return d
}

var geminiSelected = text.Lazy(`"selectedType"\s*:\s*"([^"]*)"`)

// geminiLogin finds out as the program does how it logs in, and whether what
// that takes is there.
func geminiLogin(a work.AgentSettings, e environ) (Login, string) {
	home := geminiHome(a, e)
	get := func(name string) string {
		if v := a.SetEnv[name]; v != "" {
			return v
		}
		return e.get(name)
	}
	file := func(name string) bool {
		_, err := os.Stat(filepath.Join(home, name))
		return home != "" && err == nil
	}
	// The settings may hold comments, which a reader of JSON would not take.
	method := ""
	if text, err := os.ReadFile(filepath.Join(home, "settings.json")); home != "" && err == nil {
		if m := geminiSelected().FindSubmatch(text); m != nil {
			method = string(m[1])
		}
	}
	if method == "" {
		switch {
		case get("GOOGLE_GENAI_USE_GCA") == "true":
			method = "oauth-personal"
		case get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
			method = "vertex-ai"
		case get("GOOGLE_GEMINI_BASE_URL") != "":
			return LoginNo, `gemini needs {"security":{"auth":{"selectedType":"gemini-api-key"}}} in ~/.gemini/settings.json when GOOGLE_GEMINI_BASE_URL is set`
		case get("GEMINI_API_KEY") != "":
			method = "gemini-api-key"
		case get("CLOUD_SHELL") == "true", get("GEMINI_CLI_USE_COMPUTE_ADC") == "true":
			method = "compute-default-credentials"
		case file(".env"):
			return LoginUnknown, "gemini may find a key in ~/.gemini/.env"
		default:
			return LoginNo, "gemini is not logged in: run gemini and log in, or set GEMINI_API_KEY"
		}
	}
	switch method {
	case "gemini-api-key":
		if get("GEMINI_API_KEY") != "" {
			return LoginYes, ""
		}
		if file(".env") {
			return LoginUnknown, "gemini may find GEMINI_API_KEY in ~/.gemini/.env"
		}
		return LoginUnknown, "GEMINI_API_KEY is not set; gemini may have a key in the system's keychain"
	case "vertex-ai":
		if get("GOOGLE_API_KEY") != "" || get("GOOGLE_CLOUD_PROJECT") != "" && get("GOOGLE_CLOUD_LOCATION") != "" {
			return LoginYes, ""
		}
		return LoginNo, "gemini uses Vertex AI: set GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"
	case "oauth-personal":
		if file("oauth_creds.json") || get("GOOGLE_CLOUD_ACCESS_TOKEN") != "" {
			return LoginYes, ""
		}
		return LoginUnknown, "gemini has no login in ~/.gemini; it may have one in the system's keychain"
	case "compute-default-credentials":
		return LoginUnknown, "gemini logs in with the machine's own credentials"
	}
	return LoginUnknown, fmt.Sprintf("gemini logs in by %q, which is not known here", text.Clip(text.PlainLine(method), 40))
}
