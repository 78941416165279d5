package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// PromptFolder holds the project's own prompts of reviewers, one file for each,
// relative to the checkout.
const PromptFolder = ".forge/review-prompts"

// MaxPromptBytes is the size above which a reviewer's prompt is refused: it is
// part of every question.
const MaxPromptBytes = 32 << 10

var specialistName = text.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$`)

// checkSpecialistName holds a name to what can be part of a path.
func (b *binder) checkSpecialistName(name string, path []string) {
	switch near := strings.ToLower(name); {
	case !specialistName().MatchString(name):
		b.problem(path, fmt.Sprintf("%s is %q, which is no name of a reviewer", dotted(path), text.Clip(name, mostQuoted)), "write letters, digits, _ and -, at most 60")
	case near != name && slices.Contains(review.Builtin(), near):
		b.problem(path, fmt.Sprintf("%s is %q", dotted(path), name), fmt.Sprintf("did you mean %q?", near))
	}
}

// checkReviews finds reviewers without a name or named twice, and prompts that
// belong to none.
func (c *Config) checkReviews(col *collector) {
	for _, l := range c.layers {
		first := map[string]int{}
		for i, s := range l.said.Reviews.Specialists {
			path := []string{"reviews", "specialists", element(i)}
			at := l.index.find(append(path, "type"))
			name := said(s.Type)
			if s.Type == nil {
				if !l.index.has(append(path, "type")...) && !mistyped(l, path) {
					col.add(l.file, l.index.find(path), "a reviewer has no type", `write type = "security", or a name of your own`)
				}
				continue
			}
			if j, again := first[name]; again {
				col.add(l.file, at, fmt.Sprintf("the reviewer %q is there twice", text.Clip(name, mostQuoted)),
					fmt.Sprintf("remove one of them; the first is on line %d", l.index.find([]string{"reviews", "specialists", element(j), "type"}).line))
				continue
			}
			first[name] = i
		}
	}
	root, err := os.OpenRoot(c.Root)
	if err != nil {
		return // Load has said it
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), PromptFolder)
	if err != nil {
		return // there are none, or the one that is wanted cannot be read either
	}
	names := c.specialistNames()
	for _, e := range entries {
		name, md := strings.CutSuffix(e.Name(), ".md")
		if !md || !slices.Contains(names, name) {
			col.warn(PromptFolder+"/"+e.Name(), place{}, "is the prompt of no reviewer", suggest(name, names))
		}
	}
}

// mistyped says that the table at path has a key which is none of a reviewer's:
// that was said, and it may be its type.
func mistyped(l *layer, path []string) bool {
	below := keyPath(path) + keyPath([]string{"", ""})
	for at := range l.index.at {
		key, inside := strings.CutPrefix(at, below)
		if inside && !slices.Contains(keysIn(reflect.TypeFor[Specialist]()), key) && !strings.HasPrefix(key, "focus_areas") {
			return true
		}
	}
	return false
}

// specialistNames are the built-in reviewers and then those of the
// configuration, in its order.
func (c *Config) specialistNames() []string {
	names := review.Builtin()
	for _, s := range c.File.Reviews.Specialists {
		if name := said(s.Type); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// specialist is one reviewer as the configuration has it.
func (c *Config) specialist(name string) work.Specialist {
	out := work.Specialist{Name: name, Gating: review.Gates(name)}
	for _, s := range c.File.Reviews.Specialists {
		if said(s.Type) == name {
			out.Gating = said(orElse(s.Gate, &out.Gating))
			out.FocusAreas = s.FocusAreas
		}
	}
	return out
}

// reviewers decides who reviews the phase at position i of the plan: all where
// reviews are on, those that it names itself, and in a sensitive phase all of
// them, all gating.
func (r *resolver) reviewers(i int, ph work.Phase, ps *work.PhaseSettings) {
	f := r.cfg.File
	names := r.cfg.specialistNames()
	wanted := names
	for j, name := range ph.Reviews {
		if !slices.Contains(names, name) {
			at := r.plan.where(fmt.Sprintf("phases[%d].reviews[%d]", i, j))
			r.add(r.plan.File, at, fmt.Sprintf("phase %s: unknown reviewer %q", ph.Number, text.Clip(name, mostQuoted)), suggest(name, names))
		}
	}
	switch {
	case ps.Sensitive != "":
	case len(ph.Reviews) > 0:
		wanted = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(ph.Reviews, n) })
	case !said(f.Reviews.Enabled):
		return
	}
	ps.Reviewed = true
	for _, name := range wanted {
		s := r.cfg.specialist(name)
		s.Gating = s.Gating || ps.Sensitive != ""
		s.Prompt = r.prompt(name)
		ps.Reviewers = append(ps.Reviewers, s)
	}
	ps.MaxFixes = review.MostFixes(said(f.Reviews.MaxFixAttempts), ps.Sensitive != "", f.Autonomy.SensitivePatterns.ExtraFixAttempts)
}

// prompt is the project's own prompt of a reviewer; "" = it has none.
func (r *resolver) prompt(name string) string {
	if r.root == nil {
		return ""
	}
	file := PromptFolder + "/" + name + ".md"
	text, ok, problem := readText(r.root, filepath.FromSlash(file), file, MaxPromptBytes)
	switch {
	case problem != nil:
		r.once(*problem)
	case ok && strings.TrimSpace(text) == "":
		r.once(Problem{File: file, What: "is empty", Fix: "write the reviewer's instructions, or remove it for the built-in ones"})
	}
	return text
}

// reviews resolves who is asked: a model where [llm] has one, else the agent
// that [reviews] names. By stays empty where nobody can be.
func (r *resolver) reviews() {
	f, m := r.cfg.File, r.cfg.model()
	out := work.ReviewSettings{
		OneByOne: !said(f.Reviews.Parallel), Threshold: said(f.Reviews.ConfidenceThreshold), KeepMajor: !said(f.Reviews.FailPhaseOnUnresolved),
		AskAgainSecs: f.Reviews.AskAgainSecs,
	}
	if m.BaseURL != "" {
		out.Arbiter = firstOf(said(f.Reviews.Model), m.For("arbiter"))
	}
	name := said(f.Reviews.Agent)
	switch {
	case m.BaseURL != "" && m.For("reviewer") != "":
		out.By, out.Model = "llm", m.For("reviewer")
	case name != "":
		settings, what, fix := r.agent(name)
		if what != "" {
			file, at := r.cfg.where("reviews", "agent")
			r.once(Problem{File: file, Line: at.line, Col: at.col, What: "reviews.agent: " + what, Fix: fix})
			break
		}
		out.By, out.Model = "agent:"+name, settings.Model
		if r.anyReviewed() {
			r.out.Agents[name] = settings
		}
	}
	r.out.Reviews = out
}

func (r *resolver) anyReviewed() bool {
	for _, ps := range r.out.Phases {
		if ps.Reviewed {
			return true
		}
	}
	return false
}

// unpriced names who would spend money on reviews that nothing counts; "" =
// nobody. Agents are looked at with those that work.
func (r *resolver) unpriced() (by, fix string) {
	set := r.out.Reviews
	if !r.anyReviewed() || r.cfg.model().Priced() || set.By != "llm" && set.Arbiter == "" {
		return "", ""
	}
	return fmt.Sprintf("the model %s, which reviews,", firstOf(set.Model, set.Arbiter)), "set usd_per_mtok_in and usd_per_mtok_out in [llm], or cost.iteration_usd"
}
