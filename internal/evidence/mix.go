package evidence

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/proof"
	"forge/internal/work"
)

// seen is one path that differs between a floor and a commit.
type seen struct {
	path     string
	was, now []byte // nil = not there, or not to be read
	unread   bool   // one of them is too large, or no file
	added    bool   // the floor does not have it
	mixed    proof.Mixed
	allowed  bool // may_change lets the phase change it
	back     bool // the floor's file stands in the mixed tree
	content  bool // a content of its own does
}

// changed says that the change is one of evidence that was there.
func (c seen) changed() bool { return c.mixed.How == "changed" || c.mixed.How == "removed" }

// compare sees every path that differs between floor and req.Commit by the
// rules of the trusted state m.
func (s *Store) compare(ctx context.Context, m *proof.Map, floor string, req work.EvidenceRequest) ([]seen, error) {
	changes, err := s.repo.Changes(ctx, floor, req.Commit)
	if err != nil {
		return nil, err
	}
	may, err := config.NewMatcher(req.MayChange)
	if err != nil {
		return nil, err
	}
	files, err := s.repo.Files(ctx, floor)
	if err != nil {
		return nil, err
	}
	was, err := s.readAll(ctx, floor, changes, "A")
	if err != nil {
		return nil, err
	}
	now, err := s.readAll(ctx, req.Commit, changes, "D")
	if err != nil {
		return nil, err
	}
	var all []seen
	for _, c := range changes {
		one := seen{path: c.Path, was: was[c.Path], now: now[c.Path]}
		one.unread = one.was == nil && c.Status != "A" || one.now == nil && c.Status != "D"
		if one.mixed, err = s.mixed(ctx, m, floor, req, one); err != nil {
			return nil, err
		}
		switch evidence := one.mixed.Seen.Class == proof.Evidence; {
		case one.unread:
			// Nobody read it: by its name alone it is product, or it is not.
			one.back = one.mixed.Seen.Class != proof.Product
			if one.back {
				one.mixed.How = howOf(c.Status)
			}
		case evidence:
			one.back = true
			if one.mixed.How == "same" {
				one.mixed.How = howOf(c.Status) // its mode, or that it is a link
			}
		case one.mixed.How == "same" && one.mixed.Seen.Class == proof.Product:
		case same(one.mixed.Content, one.now):
		case same(one.mixed.Content, one.was):
			one.back = true
		default:
			one.content = true
		}
		one.added = c.Status == "A"
		all = append(all, one)
	}
	if err := s.readByProduct(ctx, m, all, req.Commit); err != nil {
		return nil, err
	}
	for i := range all {
		one := &all[i]
		asked := one.added && demanded(one.mixed.Seen, req.Commands, files)
		one.allowed = (one.back || one.content) && (asked || may.Match(one.path))
	}
	return all, nil
}

// mixed is what stands at the path of one by the rules of the trusted state. A
// file of data may have come with earlier work, as product to that state: where
// that work's own tests judge by it, it is evidence on the floor that has them.
func (s *Store) mixed(ctx context.Context, m *proof.Map, floor string, req work.EvidenceRequest, one seen) (proof.Mixed, error) {
	mixed := m.Mix(one.path, one.was, one.now)
	if one.was == nil || mixed.Seen.Class != proof.Product || !proof.IsData(one.path) {
		return mixed, nil
	}
	own, err := s.survey(ctx, floor, req)
	if err != nil {
		return mixed, err
	}
	switch own.See(one.path, one.now).Rule {
	case proof.RuleByTests, proof.RuleOpened, proof.RuleCollected:
		return own.Mix(one.path, one.was, one.now), nil
	}
	return mixed, nil
}

// readByProduct sees new files of data as product where changed product of the
// commit reads them.
func (s *Store) readByProduct(ctx context.Context, m *proof.Map, all []seen, commit string) error {
	sources := map[string][]byte{}
	for _, one := range all {
		if one.mixed.Seen.Rule == proof.RuleSource && one.now != nil {
			sources[one.path] = one.now
		}
	}
	for i := range all {
		one := &all[i]
		if !one.added || one.unread || one.mixed.Seen.Class != proof.Evidence {
			continue
		}
		seen, ok := m.NamedBy(one.path, sources)
		if !ok {
			continue
		}
		if ok, err := s.repo.IsRegular(ctx, commit, one.path); err != nil {
			return err
		} else if !ok {
			continue // a link leads elsewhere
		}
		seen.Path = one.path
		one.mixed = proof.Mixed{Seen: seen, Content: one.now, How: proof.Same}
		one.back = false
	}
	return nil
}

// stays says that a floor's tree leaves the path as the commit has it, since
// nobody knows whether it is product: nothing was recognised in a new file;
// nothing reaches a changed one, or tests alone, which may run it. It may judge the product as well, so that
// there is a floor without it too.
func (c seen) stays(floor work.VerifyOn) bool {
	if c.allowed {
		return true
	}
	switch floor {
	case work.OnTrustedNew:
		return c.maybeNew() || c.maybeChanged()
	case work.OnTrustedChanged, work.OnProtectedChanged:
		return c.maybeChanged()
	case work.OnParts:
		// The work goes on in what a part began: only what surely judges binds it.
		return c.maybeProduct()
	}
	return false
}

func (c seen) maybeNew() bool {
	switch c.mixed.Seen.Rule {
	case proof.RuleTestFile, proof.RuleCollected, proof.RuleSetting, proof.RuleShadows, proof.RuleDot, proof.RuleOwner:
		return false
	}
	return c.mixed.How == "grew"
}

func (c seen) maybeChanged() bool { return c.changed() && c.maybeProduct() }

func (c seen) maybeProduct() bool {
	switch c.mixed.Seen.Rule {
	case proof.RuleUnknown, proof.RuleTool, proof.RuleImported:
		return true
	}
	return false
}

// decides says of the rule that made a new file evidence that it says how
// proofs are made, and is not merely one more of them.
func decides(rule string) bool {
	switch rule {
	case proof.RuleSetting, proof.RuleShadows, proof.RuleDot, proof.RuleOwner:
		return true
	}
	return false
}

func howOf(status string) proof.How {
	switch status {
	case "A":
		return "grew"
	case "D":
		return "removed"
	}
	return "changed"
}

// same tells contents apart, and one that is not there from an empty one.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// mix is commit with the evidence of a floor, which is at the commit at.
func (s *Store) mix(ctx context.Context, floor work.VerifyOn, at string, all []seen, commit string) (string, error) {
	var back []string
	contents := map[string][]byte{}
	for _, one := range all {
		switch {
		case one.stays(floor):
		case one.back:
			back = append(back, one.path)
		case one.content && one.now == nil:
			// A part of a file that the commit does not have stands on the floor's.
			back = append(back, one.path)
		case one.content:
			contents[one.path] = one.mixed.Content
		}
	}
	mixed, err := s.repo.WithFilesFrom(ctx, commit, at, back)
	if err != nil || len(contents) == 0 {
		return mixed, err
	}
	return s.repo.WithContents(ctx, mixed, contents)
}

// trusted is the trusted state of a request, with what was accepted in the run.
func (s *Store) trusted(ctx context.Context, req work.EvidenceRequest) (string, error) {
	var moved []git.Part
	for _, move := range req.Moves {
		paths, err := s.movedBy(ctx, move)
		if err != nil {
			return "", err
		}
		moved = append(moved, git.Part{Commit: move.To, Paths: paths})
	}
	return s.repo.WithParts(ctx, req.Trusted, moved)
}

// movedBy are the paths that a move is about.
func (s *Store) movedBy(ctx context.Context, move work.TrustMove) ([]string, error) {
	changes, err := s.repo.Changes(ctx, move.From, move.To)
	if err != nil {
		return nil, err
	}
	may, err := config.NewMatcher(move.Paths)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, c := range changes {
		if may.Match(c.Path) {
			paths = append(paths, c.Path)
		}
	}
	return paths, nil
}

// Mix implements effect.Evidence.
func (s *Store) Mix(ctx context.Context, req work.EvidenceRequest, floor work.VerifyOn) (string, error) {
	trusted, err := s.trusted(ctx, req)
	if err != nil {
		return "", fmt.Errorf("find the trusted state: %w", err)
	}
	m, err := s.survey(ctx, trusted, req)
	if err != nil {
		return "", err
	}
	if floor == work.OnParts {
		mixed, _, err := s.mixParts(ctx, m, req)
		if err != nil {
			return "", fmt.Errorf("put the evidence of parts back: %w", err)
		}
		return mixed, nil
	}
	at := trusted
	if floor == work.OnProtected || floor == work.OnProtectedChanged {
		at = req.Base
	}
	all, err := s.compare(ctx, m, at, req)
	if err == nil {
		at, err = s.mix(ctx, floor, at, all, req.Commit)
	}
	if err != nil {
		return "", fmt.Errorf("put the %s evidence back: %w", floor, err)
	}
	return at, nil
}

// ownGlobs are the owner's globs of verify.protected: its words stand for what
// internal/proof knows by itself.
func ownGlobs(globs []string) []string {
	var out []string
	builtIn := map[string]bool{}
	for _, g := range config.ProtectedDefaults() {
		builtIn[g] = true
	}
	for _, g := range globs {
		if !strings.HasPrefix(g, "@") && !builtIn[g] {
			out = append(out, g)
		}
	}
	return out
}
