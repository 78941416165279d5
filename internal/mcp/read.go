package mcp

import (
	"fmt"
	"slices"
	"strings"

	"forge/factory/web"
	"forge/factory/web/api"
	"forge/internal/narrate"
	"forge/internal/refusal"
	"forge/internal/search"
	"forge/internal/text"
	"forge/internal/token"
	"forge/internal/work"
	"forge/orchestrator"
)

// inRun names a run, and perhaps a phase of it.
type inRun struct {
	Run   string `json:"run,omitempty" jsonschema:"whole id of the run or job; absent = the token's, else the newest"`
	Phase string `json:"phase,omitempty" jsonschema:"number of a phase"`
}

type inRunPaged struct {
	inRun
	Offset int `json:"offset,omitempty" jsonschema:"where to go on, as the answer before says"`
}

type inRuns struct {
	After string `json:"after,omitempty" jsonschema:"id of a run: those older than it"`
}

type inWhy struct {
	inRun
	After int64 `json:"after,omitempty" jsonschema:"number of an event: those after it"`
	All   bool  `json:"all,omitempty" jsonschema:"also that nobody had to decide and the work went on"`
}

type inLogs struct {
	inRun
	Iteration int  `json:"iteration,omitempty" jsonschema:"from 1; absent = the last"`
	Attempt   int  `json:"attempt,omitempty" jsonschema:"from 1; absent = the last"`
	Full      bool `json:"full,omitempty" jsonschema:"with what tools answered and what the agent thought"`
	Offset    *int `json:"offset,omitempty" jsonschema:"from which byte on; absent = the end"`
}

type inSearch struct {
	Words string `json:"words" jsonschema:"words, \"words in a row\", begin*, -without; kind:, run:, phase:, path:, who:, since:2006-01-02, until: narrow it"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many places, 1 to 100; absent = 20"`
}

func readTools() []tool {
	return []tool{
		define(tool{name: "runs", tier: token.Read, about: "Runs and jobs, the newest first."}, listRuns),
		define(tool{name: "status", tier: token.Read, about: "Where a run stands: its phases, proofs, reviews, what it used, what it asks."}, showStatus),
		define(tool{name: "plan", tier: token.Read, about: "What a run was asked to do: its phases as planned; of a job, also its plan, todos and workspace."}, showPlan),
		define(tool{name: "why", tier: token.Read, about: "What was decided in a run or phase, and on what it rests, in order."}, showWhy),
		define(tool{name: "logs", tier: token.Read, about: "What an agent said and did in an iteration."}, showLogs),
		define(tool{name: "search", tier: token.Read, about: "Where something was said, decided or written: plans, agents' words, findings, comments, decisions, issues, files."}, findPlaces),
		define(tool{name: "findings", tier: token.Read, about: "What the reviews of a run or phase found."}, showFindings),
	}
}

func listRuns(c *call, in inRuns) (answer, error) {
	const page = 50
	var l list
	next := ""
	switch {
	case c.Grant.Run != "":
		row, err := c.run("")
		if err != nil {
			return answer{}, err
		}
		l.add(runLine(row.ID, row.State, row.Job, row.Issue, row.Created.UTC().Format("2006-01-02 15:04")))
	default:
		if in.After != "" {
			if _, err := c.run(in.After); err != nil {
				return answer{}, err
			}
		}
		rows, err := c.project.Runs.Runs(c, page+1, in.After)
		if err != nil {
			return answer{}, err
		}
		for i, row := range rows {
			if i == page || !l.add(runLine(row.ID, row.State, row.Job, row.Issue, row.Created.UTC().Format("2006-01-02 15:04"))) {
				next = "after=" + rows[i-1].ID
				break
			}
		}
	}
	return answer{head: text.Number(l.count, "run") + ".\n", title: "Runs", data: l.b.String(), next: next}, nil
}

func runLine(id, state string, job bool, issue int64, created string) string {
	what := "run"
	if job {
		what = "job"
	}
	line := fmt.Sprintf("%s %s: %s, begun %s", what, id, state, created)
	if issue != 0 {
		line += fmt.Sprintf(", of issue %d", issue)
	}
	return line
}

func showStatus(c *call, in inRunPaged) (answer, error) {
	row, err := c.run(in.Run)
	if err != nil {
		return answer{}, err
	}
	s, err := api.StatusOf(c, c.project, row)
	if err != nil {
		return answer{}, err
	}
	st, err := c.project.Runs.State(c, row.ID)
	if err != nil {
		return answer{}, err
	}
	phase, err := c.phase(st, in.Phase)
	if err != nil {
		return answer{}, err
	}
	if phase != "" {
		s.Phases = slices.DeleteFunc(s.Phases, func(p api.PhaseStatus) bool { return p.Number != phase })
		s.Checkpoints = slices.DeleteFunc(s.Checkpoints, func(q orchestrator.CheckpointStanding) bool { return q.Phase != phase })
	}
	if c.Grant.Phase != "" {
		// Words about the run as a whole may be about other phases.
		s.Reason, s.Delivery, s.Job = "", nil, nil
	}
	data, err := asJSON(s)
	return paged("Run "+row.ID+" is "+row.State+".\n", "Status", data, in.Offset), err
}

// planned is a phase as it was planned.
type planned struct {
	work.Phase
	Done *bool `json:"done,omitempty"`
}

func showPlan(c *call, in inRunPaged) (answer, error) {
	row, st, err := c.stand(in.Run)
	if err != nil {
		return answer{}, err
	}
	// The agent of a phase sees the whole plan, and not how others fare with it.
	only := ""
	if c.Grant.Phase == "" {
		if only, err = c.phase(st, in.Phase); err != nil {
			return answer{}, err
		}
	}
	phases := []planned{}
	for _, n := range st.Order {
		if only != "" && n != only {
			continue
		}
		one := planned{Phase: st.View(n).Plan}
		if c.Grant.Phase == "" {
			done := st.View(n).Outcome == work.PhaseDone
			one.Done = &done
		}
		phases = append(phases, one)
	}
	data, err := asJSON(phases)
	if err != nil {
		return answer{}, err
	}
	if row.Job {
		papers, err := c.project.Cockpit.Papers(c, row.ID)
		if err != nil {
			return answer{}, err
		}
		data += "\n\nplan.md\n\n" + papers.Plan
		if c.Grant.Phase == "" {
			data += "\n\nworkspace.md\n\n" + papers.Workspace + "\n\ntodos\n"
			for _, t := range papers.Todos {
				data += "\n" + t.State + ": " + t.Title
			}
		}
	}
	return paged(fmt.Sprintf("Run %s has %s.\n", row.ID, text.Number(len(phases), "phase")), "Plan", data, in.Offset), nil
}

func showWhy(c *call, in inWhy) (answer, error) {
	row, st, err := c.stand(in.Run)
	if err != nil {
		return answer{}, err
	}
	phase, err := c.phase(st, in.Phase)
	if err != nil {
		return answer{}, err
	}
	return c.told(row.ID, in.After, func(e work.Event) bool {
		return narrate.Decides(e.Kind) && (in.All || !narrate.Plain(e)) && c.hears(st, phase, e)
	})
}

// hears says whether an event is about a phase, "" being the whole run. Of a
// sub-phase the agent of its parent hears nothing.
func (c *call) hears(st *orchestrator.State, phase string, e work.Event) bool {
	if c.Grant.Phase != "" {
		return e.Phase == c.Grant.Phase
	}
	return narrate.Belongs(st, phase, e)
}

// told are the events of a run after a number that a filter lets through, in
// words.
func (c *call) told(run string, after int64, wanted func(work.Event) bool) (answer, error) {
	const page = 500
	var l list
	for {
		events, err := c.project.Runs.Events(c, run, after, page)
		if err != nil {
			return answer{}, err
		}
		for _, e := range events {
			if wanted(e) {
				line, err := c.say(e)
				if err != nil {
					return answer{}, err
				}
				if line != "" && !l.add(line) {
					return answer{head: "Run " + run + ", in order.\n", title: "Events", data: l.b.String(), next: fmt.Sprintf("after=%d", after)}, nil
				}
			}
			after = e.Seq
		}
		if len(events) < page {
			break
		}
	}
	if l.count == 0 {
		return answer{head: "Run " + run + ": nothing of the kind happened.\n"}, nil
	}
	return answer{head: "Run " + run + ", in order.\n", title: "Events", data: l.b.String()}, nil
}

// say is an event in words; "" says nothing to anybody.
func (c *call) say(e work.Event) (string, error) {
	head, facts, err := c.project.Cockpit.Say(e)
	if err != nil || head == "" {
		return "", err
	}
	line := fmt.Sprintf("%d %s ", e.Seq, e.Time.UTC().Format("2006-01-02 15:04:05"))
	if e.Phase != "" {
		line += "phase " + e.Phase + " "
	}
	line += head
	for _, f := range facts {
		if f[1] != "" {
			line += "\n    " + f[0] + ": " + strings.ReplaceAll(f[1], "\n", "\n    ")
		}
	}
	return line, nil
}

// mostOutput is how much of what an agent printed is read, from its end.
const mostOutput = 256 << 10

func showLogs(c *call, in inLogs) (answer, error) {
	row, st, err := c.stand(in.Run)
	if err != nil {
		return answer{}, err
	}
	ph, err := c.onePhase(st, in.Phase)
	if err != nil {
		return answer{}, err
	}
	iteration := in.Iteration
	if iteration <= 0 {
		iteration = max(ph.Iteration, 1)
	}
	attempt := in.Attempt
	if attempt <= 0 {
		attempt = max(ph.Tries[iteration], 1)
	}
	turns, err := c.project.Runs.Conversation(c, row.ID, ph.Number, iteration, attempt, mostOutput)
	if err != nil {
		return answer{}, err
	}
	var b strings.Builder
	for _, t := range turns {
		b.WriteString(narrate.Turn(t, in.Full))
	}
	head := fmt.Sprintf("Run %s, phase %s, iteration %d, attempt %d.", row.ID, ph.Number, iteration, attempt)
	if b.Len() == 0 {
		return answer{head: head + fmt.Sprintf(" Nothing was said yet, or it was not kept; the last iteration is %d.\n", ph.Iteration)}, nil
	}
	offset := b.Len() - mostBytes/2
	if in.Offset != nil {
		offset = *in.Offset
	}
	return paged(head+"\n", "Conversation", b.String(), offset), nil
}

func showFindings(c *call, in inRunPaged) (answer, error) {
	row, st, err := c.stand(in.Run)
	if err != nil {
		return answer{}, err
	}
	only, err := c.phase(st, in.Phase)
	if err != nil {
		return answer{}, err
	}
	var b strings.Builder
	count := 0
	for _, n := range st.Order {
		if only != "" && n != only {
			continue
		}
		for _, f := range findingsOf(st.View(n)) {
			count++
			fmt.Fprintf(&b, "phase %s, %s, %s: %s\n\n", n, f.Specialist, f.Severity, narrate.SayFinding(f))
		}
	}
	return paged(fmt.Sprintf("Run %s: %s.\n", row.ID, text.Number(count, "finding")), "Findings", b.String(), in.Offset), nil
}

// findPlaces finds within what the token is for.
func findPlaces(c *call, in inSearch) (answer, error) {
	if c.project.Search == nil {
		return answer{}, refusal.New("the other tools read", "nothing is searched here")
	}
	if in.Limit < 0 || in.Limit > search.MaxHits {
		return answer{}, refusal.New(fmt.Sprintf("use 1 to %d", search.MaxHits), "limit %d is out of bounds", in.Limit)
	}
	if _, wrong := search.Parse(in.Words, c.Now()); len(wrong) > 0 {
		return answer{}, refusal.New("words, and kind:, run:, phase:, path:, who:, since:, until:", "%s", text.OneLine(strings.Join(wrong, "; "), mostLabel*4))
	}
	found, err := c.project.Search.Find(c, web.Sought{Said: in.Words, Limit: in.Limit, Run: c.Grant.Run, Phase: c.Grant.Phase})
	if err != nil {
		return answer{}, err
	}
	var l list
	for _, h := range found.Hits {
		line := h.Where()
		if h.Excerpt != "" {
			line += "\n    " + strings.ReplaceAll(h.Excerpt, "\n", "\n    ")
		}
		if !l.add(line) {
			break
		}
	}
	head := text.Number(l.count, "place") + ".\n"
	if found.Partly {
		head = text.Number(l.count, "place") + " so far: the project is still being read.\n"
	}
	if found.Note != "" {
		head += found.Note + "\n"
	}
	return answer{head: head, title: "Places", data: l.b.String()}, nil
}
