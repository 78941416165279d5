package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Settings reads and changes a project's configuration.
type Settings interface {
	Read(ctx context.Context) (SettingsNow, error)
	// Write puts text in the place of the project's own file, which was seen with
	// the sum seen. Text that cannot be used is a *BadSettings; a file that
	// somebody changed meanwhile is a work.ErrStale.
	Write(ctx context.Context, text, seen, by string) error
	// Health is what is missing on this machine and in the project: agents, their
	// logins, sandbox, checks; a line each.
	Health(ctx context.Context) (string, error)
}

// SettingsNow is a project's configuration as it is.
type SettingsNow struct {
	File     string    `json:"file" doc:"The project's own file, from the root of its checkout."`
	Text     string    `json:"text" doc:"The whole of it."`
	Sum      string    `json:"sum" doc:"Of the text; who changes it says which one was seen."`
	Values   []Setting `json:"values" doc:"What holds now, defaults and the user's own file included; none where the file has problems."`
	Problems []string  `json:"problems" doc:"What is wrong with the file as it is."`
}

// Setting is one value of a configuration, with where it comes from.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value" doc:"As TOML; secrets taken out."`
	Origin string `json:"origin"`
	Doc    string `json:"doc"`
}

// Said tells whether somebody said it: in a file, a variable or a flag.
func (s Setting) Said() bool { return s.Origin != "" && s.Origin != "default" }

// BadSettings is a configuration that cannot be used, and why.
type BadSettings struct{ Problems []string }

func (b *BadSettings) Error() string { return strings.Join(b.Problems, "\n") }

func (s *Server) settingsRoutes() {
	s.mux.Handle("GET /p/{project}/settings", s.need(RoleAdmin, s.settingsPage))
	s.mux.Handle("POST /p/{project}/settings", s.need(RoleAdmin, s.changeSettings))
	s.mux.Handle("GET /p/{project}/health", s.need(RoleAdmin, s.healthPart))
}

// settingsData is what pages/settings.html shows.
type settingsData struct {
	Base, Token string
	SettingsNow
	Refused []string // what is wrong with what was sent
	Saved   bool
	Health  string
}

var errNoSettings = &Complaint{http.StatusNotFound, "The configuration of this project cannot be changed here.", "Change its file."}

func (s *Server) settingsData(v *visit) (d settingsData, err error) {
	if v.Project.Settings == nil {
		return d, errNoSettings
	}
	d.Base, d.Token, d.Saved = v.url(""), s.token(v.Who), v.URL.Query().Get("saved") == "1"
	d.SettingsNow, err = v.Project.Settings.Read(v.Context())
	return d, err
}

func (s *Server) settingsPage(v *visit) error {
	d, err := s.settingsData(v)
	if err != nil {
		return err
	}
	return v.page("settings", "Settings", d)
}

func (s *Server) changeSettings(v *visit) error {
	d, err := s.settingsData(v)
	if err != nil {
		return err
	}
	body := strings.ReplaceAll(v.PostFormValue("text"), "\r\n", "\n") // as forms send it
	err = v.Project.Settings.Write(v.Context(), body, v.form("seen"), v.Who.Name)
	var bad *BadSettings
	switch {
	case errors.As(err, &bad):
		d.Refused, d.Text, d.Sum = bad.Problems, body, v.form("seen")
		return v.server.write(v, http.StatusUnprocessableEntity, "settings", "layout", v.view("Settings", d))
	case errors.Is(err, work.ErrStale):
		d.Refused = []string{"Somebody else changed the file meanwhile: below is what you wrote. Load the page again to see theirs."}
		d.Text, d.Sum = body, v.form("seen")
		return v.server.write(v, http.StatusConflict, "settings", "layout", v.view("Settings", d))
	case err != nil:
		return err
	}
	return v.seeOther(v.url("/settings?saved=1"))
}

func (s *Server) healthPart(v *visit) error {
	if v.Project.Settings == nil {
		return errNoSettings
	}
	lines, err := v.Project.Settings.Health(v.Context())
	if err != nil {
		return err
	}
	return v.part("settings", "health-part", settingsData{Health: text.Plain(lines)})
}
