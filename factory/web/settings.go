package web

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"forge/factory/web/diff"
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
	// Propose is the text that says these values, by the keys of fields, instead of
	// what it says; everything else of it stays as it is. Errors are Write's.
	Propose(ctx context.Context, values map[string]string, seen string) (text string, err error)
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
	// Fields are settings that a form shows one by one; none where the file has problems.
	Fields []Field `json:"-"`
}

// Field is a setting as a form shows it: a list has a line for each element, and
// "" says nothing.
type Field struct {
	Group, Key, Label, Unit string
	Doc, Default            string
	None                    string // what holds where nobody says anything and there is no default
	Value                   string // what the project's file says
	Holds, Origin           string // what holds where it says nothing, and says who; "" = the default does
	Lines                   bool
	Choices                 Choices // nil = it is written
	Locked                  string  // why it cannot be changed here
	Wrong                   string  // what is wrong with what was sent
}

// Else is what holds where the project's file says nothing, in words.
func (f Field) Else() string {
	switch {
	case f.Origin != "":
		return strings.ReplaceAll(f.Holds, "\n", ", ") + ", by " + f.Origin
	case f.Default == "true":
		return "yes"
	case f.Default == "false":
		return "no"
	}
	return cmp.Or(strings.ReplaceAll(f.Default, "\n", ", "), f.None)
}

// Means is what the choice means that holds now; "" where that is not said.
func (f Field) Means() string {
	if f.Value == "true" || f.Value == "false" {
		return ""
	}
	return f.Choices.Says(cmp.Or(f.Value, f.Holds, f.Default))
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
type BadSettings struct {
	Problems []string
	Fields   map[string]string // what is wrong with single fields, by key
}

func (b *BadSettings) Error() string {
	all := slices.Clone(b.Problems)
	for _, key := range slices.Sorted(maps.Keys(b.Fields)) {
		all = append(all, key+": "+b.Fields[key])
	}
	return strings.Join(all, "\n")
}

func (s *Server) settingsRoutes() {
	s.mux.Handle("GET /p/{project}/settings", s.need(RoleAdmin, s.settingsPage))
	s.mux.Handle("POST /p/{project}/settings", s.need(RoleAdmin, s.changeSettings))
	s.mux.Handle("POST /p/{project}/settings/fields", s.need(RoleAdmin, s.proposeSettings))
	s.mux.Handle("GET /p/{project}/health", s.need(RoleAdmin, s.healthPage))
}

// settingsData is what pages/settings.html shows.
type settingsData struct {
	Base, Token string
	SettingsNow
	Refused     []string // what is wrong with what was sent
	Saved       bool
	WrongFields int // so many fields cannot be as they were sent
	// Asked says that fields were sent: Change is how the file would differ by them,
	// not at all where it is empty.
	Asked  bool
	Change []diff.Line
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
	if ends := strings.Count(d.Text, "\n"); ends > 0 && strings.Count(d.Text, "\r\n") == ends {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
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

// fieldName is the name of a setting's field in the form.
func fieldName(key string) string { return "set-" + key }

// proposeSettings shows how the file changes by what the fields say, with the
// button that saves it; with save it does. Fields are sent both times, not the
// text: browsers change line ends.
func (s *Server) proposeSettings(v *visit) error {
	d, err := s.settingsData(v)
	if err != nil {
		return err
	}
	if err := v.ParseForm(); err != nil {
		return err
	}
	values := map[string]string{}
	for n, f := range d.Fields {
		if said, sent := v.PostForm[fieldName(f.Key)]; sent && f.Locked == "" {
			values[f.Key] = strings.TrimSpace(strings.ReplaceAll(said[0], "\r\n", "\n"))
			d.Fields[n].Value = values[f.Key]
		}
	}
	seen := v.form("seen")
	after, err := v.Project.Settings.Propose(v.Context(), values, seen)
	if err == nil && v.form("save") != "" {
		if err = v.Project.Settings.Write(v.Context(), after, seen, v.Who.Name); err == nil {
			return v.seeOther(v.url("/settings?saved=1"))
		}
	}
	status := http.StatusOK
	var bad *BadSettings
	switch {
	case errors.As(err, &bad):
		status, d.Refused = http.StatusUnprocessableEntity, bad.Problems
		for n, f := range d.Fields {
			d.Fields[n].Wrong = bad.Fields[f.Key]
		}
		d.WrongFields = len(bad.Fields)
	case errors.Is(err, work.ErrStale):
		status, d.Refused = http.StatusConflict, []string{"Somebody else changed the file meanwhile: look at your changes once more."}
	case err != nil:
		return err
	default:
		d.Asked, d.Change = true, diff.Lines(d.Text, after)
	}
	return s.write(v, status, "settings", "layout", v.view("Settings", d))
}

// healthLine is one thing that was looked for.
type healthLine struct {
	Mark string // ✓, ✗ or !; "" = a line of another kind
	Text string // what was found
	Fix  string // way out, "" = none is needed
}

// healthLines reads what forge doctor says: a mark and what was found, and below it
// the way out.
func healthLines(said string) (out []healthLine) {
	for line := range strings.Lines(text.Plain(said)) {
		line = strings.TrimSpace(line)
		mark, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case mark == "→" && len(out) > 0:
			out[len(out)-1].Fix = rest
		case mark == "✓", mark == "✗", mark == "!":
			out = append(out, healthLine{Mark: mark, Text: rest})
		default:
			out = append(out, healthLine{Text: line})
		}
	}
	return out
}

// healthPage is what is missing, as a page, and as a part of that of the settings.
func (s *Server) healthPage(v *visit) error {
	if v.Project.Settings == nil {
		return errNoSettings
	}
	lines, err := v.Project.Settings.Health(v.Context())
	if err != nil {
		return err
	}
	if v.htmx() {
		return v.part("health", "list", healthLines(lines))
	}
	return v.page("health", "Is everything there?", healthLines(lines))
}
