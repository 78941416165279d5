package worker

import (
	"context"

	"forge/factory/web"
	"forge/internal/config"
	"forge/internal/door"
	"forge/internal/project"
	"forge/internal/slack"
	"forge/internal/trackers"
)

// Doors are the places outside where people are asked about the projects of a
// server, and answer.
type Doors struct {
	door.Doors
	set   config.SlackSettings
	keys  *web.Keys
	pages string
	app   *slack.App // nil = there is no such place
}

// openDoors opens the places that the user names; keys know what the people may
// who are named there.
func openDoors(env project.Env, keys *web.Keys) (*Doors, error) {
	cfg, err := trackers.UserConfig(env)
	if err != nil {
		return nil, err
	}
	set, ok, err := cfg.Slack()
	if err != nil || !ok {
		return &Doors{}, err
	}
	d := &Doors{set: set, keys: keys}
	if at := cfg.File.Server.PublicURL; at != nil {
		d.pages = *at
	}
	at := &slack.Place{Client: slack.NewClient(set.URL, set.AppToken.Value, set.BotToken.Value), Channel: set.Channel}
	d.app = &slack.App{Place: at, Hear: d.Hear, Log: env.Log}
	return d, nil
}

// people are those whom the configuration names by Slack's ids. Whoever has no
// role any more may nothing.
func (d *Doors) people(id string) (web.Person, bool, error) {
	name, ok := d.set.Users[id]
	if !ok {
		return web.Person{}, false, nil
	}
	p, known, err := d.keys.Person(name)
	if !known {
		p = web.Person{Name: name}
	}
	return p, true, err
}

// openDoors lets people be asked about the project for as long as its board is
// worked on.
func (s *Worker) openDoors(p *project.Checkout, d *Doors) {
	if d.app == nil {
		return
	}
	one := door.New(p, door.Config{Name: "slack", Project: s.Project, Place: d.app.Place, People: d.people, Pages: d.pages})
	post := func(loop func(context.Context)) func(context.Context) {
		return s.byOne("slack", "asking people in Slack", loop)
	}
	if keep := d.Add(one, d.app.Listen, post); keep != nil {
		s.beside = append(s.beside, keep)
		s.Log.Info("people are asked in Slack", "project", s.Project, "channel", d.set.Channel)
	}
}
