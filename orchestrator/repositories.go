package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// A run may work in several repositories: a phase names its own, and those that
// name none work in the home, where the plan is. Each has a head, a base and a
// trusted state of its own, and says itself what proves work in it. What a phase
// is asked about its tree is asked in its repository.

// repositories checks what a run of several repositories is opened with. What is
// not made for more than one is refused here once more, whatever door let it in.
func (s *State) repositories() error {
	spec := s.Spec
	for _, r := range spec.Repositories {
		if s.Beside == nil {
			s.Beside = map[string]string{}
		}
		if _, again := s.Beside[r.Name]; again || r.Name == "" || r.Name == work.HomeRepository {
			return fmt.Errorf("open run %s: no repository can be called %q beside the home", s.Run, r.Name)
		}
		if (r.Host == nil) != (spec.Host == nil) {
			return fmt.Errorf("open run %s: either every repository has a code host for its result, or none, and %s is unlike the home", s.Run, r.Name)
		}
		s.Beside[r.Name] = r.Base.Commit
	}
	for _, ph := range spec.Plan.Phases {
		if _, known := s.Beside[ph.Repository]; ph.Repository != "" && !known {
			return fmt.Errorf("open run %s: phase %s works in the repository %s, which the run was not opened with", s.Run, ph.Number, ph.Repository)
		}
	}
	if why := spec.OneRepository(); len(spec.Repositories) > 0 && why != "" {
		return fmt.Errorf("open run %s: it works in several repositories, and %s", s.Run, why)
	}
	return nil
}

// OneRepository says what of a run is not made for several repositories; "" =
// nothing is in the way.
func (spec Spec) OneRepository() string {
	switch {
	case spec.Job != nil:
		return "a job works in one"
	case spec.Pulls != nil:
		return "its pull requests would land one by one"
	case spec.Fork != nil, spec.Issue != nil && (spec.Issue.Pushed != nil || spec.Issue.Conflict != nil):
		return "what it goes on from knows one"
	case len(spec.Settings.Hooks) > 0:
		return "hooks are asked in one"
	}
	for _, ph := range spec.Plan.Phases {
		if spec.Settings.Phases[ph.Number].Tries > 1 {
			return "phase " + ph.Number + " is tried several times"
		}
	}
	return ""
}

// repository is what the run was opened with in a repository beside the home; nil
// = it is the home.
func (s *State) repository(name string) *work.Repository {
	for i := range s.Spec.Repositories {
		if s.Spec.Repositories[i].Name == name {
			return &s.Spec.Repositories[i]
		}
	}
	return nil
}

// RepositoryOf is the repository that a phase works in; "" = the home.
func (s *State) RepositoryOf(phase string) string {
	if p := s.Phases[phase]; p != nil {
		return p.Plan.Repository
	}
	return ""
}

// repositoryOf is the repository that a command is carried out in.
func (s *State) repositoryOf(c Command) string {
	if p := s.Phases[c.Phase]; p != nil {
		return p.Plan.Repository
	}
	return c.Repository
}

// HeadOf is the head of the run's branch in a repository.
func (s *State) HeadOf(repository string) string {
	if s.repository(repository) == nil {
		return s.Head
	}
	return s.Beside[repository]
}

func (s *State) setHead(repository, commit string) {
	if s.repository(repository) == nil {
		s.Head = commit
		return
	}
	s.Beside[repository] = commit
}

// BaseOf is where the run began in a repository.
func (s *State) BaseOf(repository string) work.Base {
	if r := s.repository(repository); r != nil {
		return r.Base
	}
	return s.Spec.Base
}

// settingsOf are the settings of work in a repository: what proves it is its own.
func (s *State) settingsOf(repository string) work.Settings {
	set := s.Spec.Settings
	if r := s.repository(repository); r != nil {
		set.Verify, set.Proof, set.Worktree = r.Verify, r.Proof, r.Worktree
	}
	return set
}

// trustedIn is the commit that proofs in a repository are held against.
func (s *State) trustedIn(repository string) string {
	r := s.repository(repository)
	switch {
	case r == nil:
		return s.Trusted()
	case r.Trusted == "":
		return r.Base.Commit
	}
	return r.Trusted
}

// movesIn are the moves of the trusted state of a repository, of the first ones.
func (s *State) movesIn(repository string, first int) []work.TrustMove {
	moves := s.Moves[:min(first, len(s.Moves))]
	if len(s.Spec.Repositories) == 0 {
		return moves
	}
	var out []work.TrustMove
	for _, m := range moves {
		if m.Repository == repository {
			out = append(out, m)
		}
	}
	return out
}

// order is the order in which the repositories are handed over: as the plan's graph
// comes to them, so that what others rest on goes first.
func (s *State) order() []string {
	var out []string
	for _, n := range s.topo {
		if r := s.RepositoryOf(n); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// untouched says that no phase landed anything, in whichever repository.
func (s *State) untouched() bool {
	if s.Head != s.Spec.Base.Commit {
		return false
	}
	for _, r := range s.Spec.Repositories {
		if s.Beside[r.Name] != r.Base.Commit {
			return false
		}
	}
	return true
}

// Result is what the phases of a run came to in one of its repositories.
type Result struct {
	Repository string // as people call it
	Base       work.Base
	Commit     string
}

// Results are those of a run of several repositories that differ from where it began,
// in the order in which they are handed over; nil = it is of one.
func (s *State) Results() []Result {
	if len(s.Spec.Repositories) == 0 {
		return nil
	}
	var out []Result
	for _, name := range s.order() {
		if r := (Result{Called(name), s.BaseOf(name), s.HeadOf(name)}); r.Base.Commit != r.Commit {
			out = append(out, r)
		}
	}
	return out
}

// tellResults says where the parts of a result are, for whoever is asked about it.
func (s *State) tellResults() string {
	var b strings.Builder
	for _, r := range s.Results() {
		fmt.Fprintf(&b, "In the repository %s: git -C %s diff %s %s\n", r.Repository, text.Line(r.Base.RepoRoot), text.Short(r.Base.Commit), text.Short(r.Commit))
	}
	return b.String()
}

// heads names the run's result as a whole, for what was judged of it.
func (s *State) heads() string {
	var b strings.Builder
	b.WriteString(s.Head)
	for _, r := range s.Spec.Repositories {
		fmt.Fprintf(&b, " %s %s", r.Name, s.Beside[r.Name])
	}
	return b.String()
}

// firstBaseline begins the verifies of the bases: those that a repository has
// commands for, the home first.
func (s *State) firstBaseline() {
	s.Baseline.Stage = BaselinePassed
	if s.checksBase("") {
		s.Baseline.Stage = BaselineDue
		return
	}
	s.nextBaseline()
}

// nextBaseline goes on with the base of the next repository, where one is left.
func (s *State) nextBaseline() {
	at := slices.IndexFunc(s.Spec.Repositories, func(r work.Repository) bool { return r.Name == s.Baseline.Repository })
	for _, r := range s.Spec.Repositories[at+1:] {
		if s.checksBase(r.Name) {
			s.Baseline.Stage, s.Baseline.Repository = BaselineDue, r.Name
			return
		}
	}
}

func (s *State) checksBase(repository string) bool {
	v := s.settingsOf(repository).Verify
	return len(v.Commands) > 0 && !v.None || s.warmsUp(repository)
}

// Called is a repository's name for people.
func Called(repository string) string {
	if repository == "" {
		return work.HomeRepository
	}
	return repository
}
