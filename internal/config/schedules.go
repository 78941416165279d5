package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"forge/internal/cron"
	"forge/internal/text"
	"forge/internal/work"
)

// mostSchedules bounds the schedules of a project.
const mostSchedules = 100

var scheduleName = text.Lazy(`^[a-z0-9][a-z0-9_-]{0,59}$`)

// ScheduleSettings is one of [[factory.schedules]], resolved.
type ScheduleSettings struct {
	Name     string
	Cron     string
	Times    cron.Times
	In       *time.Location
	Issue    work.Issue // as it is put on the board, with {date} in its texts
	SkipOpen bool
}

// checkSchedules looks at each schedule, file by file.
func (c *Config) checkSchedules(col *collector) {
	for _, l := range c.layers {
		seen := map[string]bool{}
		for n, s := range l.said.Factory.Schedules {
			bad := func(key, what, fix string) {
				path := []string{"factory", "schedules", element(n)}
				if key != "" {
					path = append(path, key)
				}
				col.add(l.file, l.index.find(path), dotted(path)+" "+what, fix)
			}
			for key, value := range map[string]*string{"name": s.Name, "cron": s.Cron, "title": s.Title} {
				if strings.TrimSpace(said(value)) == "" {
					bad("", "has no "+key, "write "+key+" = …")
				}
			}
			name := said(s.Name)
			switch {
			case name == "":
			case !scheduleName().MatchString(name):
				bad("name", "is no name for a schedule", "use small letters, digits, _ and -, at most 60")
			case seen[name]:
				bad("name", fmt.Sprintf("is %q, as that of another one", name), "give each a name of its own")
			}
			seen[name] = true
			if said(s.Title) != "" {
				for _, p := range s.issue().Check() {
					bad("", fmt.Sprintf("makes no issue: %s: %s", p.Path, p.What), p.Fix)
				}
			}
		}
		if n := len(l.said.Factory.Schedules); n > mostSchedules {
			col.add(l.file, l.index.find([]string{"factory", "schedules"}), fmt.Sprintf("there are %d schedules, at most %d are possible", n, mostSchedules), "leave some out")
		}
	}
}

// issue is what a schedule puts on the board.
func (s Schedule) issue() work.Issue {
	i := work.Issue{
		Title: said(s.Title), Description: said(s.Text), Level: said(s.Level), Labels: s.Labels, Needs: []int64{}, Hold: []string{}, Criteria: []work.Criterion{},
		Priority: work.Priority(cmp.Or(said(s.Priority), string(work.PriorityNormal))), Column: work.Column(cmp.Or(said(s.Column), string(work.ColumnReady))),
	}
	for n, words := range s.Criteria {
		i.Criteria = append(i.Criteria, work.Criterion{ID: fmt.Sprintf("c%d", n+1), Text: words})
	}
	i.CriteriaGiven = len(i.Criteria)
	return i
}

// Schedules are those of the project, in the order of the file. They were checked
// when the file was read.
func (c *Config) Schedules() []ScheduleSettings {
	var out []ScheduleSettings
	for _, s := range c.File.Factory.Schedules {
		times, err := cron.Parse(said(s.Cron))
		in, zoneErr := time.LoadLocation(said(s.Timezone))
		if err != nil || zoneErr != nil {
			continue
		}
		out = append(out, ScheduleSettings{
			Name: said(s.Name), Cron: said(s.Cron), Times: times, In: in, Issue: s.issue(), SkipOpen: s.SkipOpen == nil || *s.SkipOpen,
		})
	}
	return out
}
