package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ZeroID as the old value of a reference says that it must not exist.
const ZeroID = "0000000000000000000000000000000000000000"

// staleLock is the age from which a lock on one of Forge's own references is
// taken for the leftover of a killed git: writing one takes milliseconds.
const staleLock = 5 * time.Second

// validRef says whether name may be a reference, as git check-ref-format
// does; Forge's names must lie below refs/.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.Contains(name, "//") {
		return false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return false
		}
	}
	for _, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

func checkRef(name string) error {
	if !validRef(name) || len(name) > 1000 {
		return fmt.Errorf("not a reference name: %q", name)
	}
	return nil
}

// MovedError is a reference that is not where the caller believed it to be.
type MovedError struct{ Ref, Want string }

// Error names the reference.
func (e *MovedError) Error() string {
	return "reference " + e.Ref + " is not at " + e.Want + " any more"
}

// UpdateRef points one of Forge's own references at id by compare-and-set.
// old "" sets it whatever it was, ZeroID demands that it does not exist; id ""
// removes it. Errors: *MovedError.
func (s *Store) UpdateRef(ctx context.Context, ref, id, old string) error {
	return s.updateRef(ctx, ref, id, old, false)
}

// updateRef is UpdateRef; a durable reference is on disk afterwards.
func (s *Store) updateRef(ctx context.Context, ref, id, old string, durable bool) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	args := []string{"update-ref", "--no-deref", ref, id}
	if id == "" {
		args = []string{"update-ref", "--no-deref", "-d", ref}
	} else if err := checkIDs(id); err != nil {
		return err
	}
	if old != "" {
		if err := checkIDs(old); err != nil {
			return err
		}
		args = append(args, old)
	}
	if id != "" {
		if done, err := s.updateHere(ref, id, old, durable); done || err != nil {
			return err
		}
	}
	var env []string
	if durable { // beside the forced settings, of this reference alone
		n := strconv.Itoa(len(forced))
		env = []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(forced)+1), "GIT_CONFIG_KEY_" + n + "=core.fsync", "GIT_CONFIG_VALUE_" + n + "=loose-object,reference"}
	}
	var err error
	for range 6 {
		if _, err = s.git(ctx, call{args: args, env: env}); err == nil {
			return nil
		}
		if moved(err) && old != "" {
			return &MovedError{Ref: ref, Want: old}
		}
		if again, wait := s.clearRef(ref); !again {
			break
		} else if err := pause(ctx, wait); err != nil {
			return err
		}
	}
	return fmt.Errorf("update reference %s: %w", ref, err)
}

// moved recognises git's refusals of a compare-and-set.
func moved(err error) bool {
	var cmd *CommandError
	if !errors.As(err, &cmd) {
		return false
	}
	return strings.Contains(cmd.Stderr, "but expected") || strings.Contains(cmd.Stderr, "reference already exists") ||
		strings.Contains(cmd.Stderr, "unable to resolve reference") && !strings.Contains(cmd.Stderr, "broken")
}

// clearRef removes what a killed git or a power cut left in the way of a
// reference: an old lock, or a file that was never filled. It says whether to
// try again, and after how long.
func (s *Store) clearRef(ref string) (again bool, wait time.Duration) {
	path := filepath.Join(s.repo, filepath.FromSlash(ref))
	for _, lock := range []string{path + ".lock", filepath.Join(s.repo, "packed-refs.lock")} {
		info, err := os.Lstat(lock)
		if err != nil {
			continue
		}
		if time.Since(info.ModTime()) < staleLock {
			return true, time.Second
		}
		_ = os.Remove(lock)
		again = true
	}
	if data, err := os.ReadFile(path); err == nil && !isID(strings.TrimSpace(string(data))) {
		again = os.Remove(path) == nil || again
	}
	return again, 0
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// ReadRef returns what one of Forge's own references points at; "" when it
// does not exist.
func (s *Store) ReadRef(ctx context.Context, ref string) (string, error) {
	if err := checkRef(ref); err != nil {
		return "", err
	}
	if id, ok := s.refHere(ref); ok {
		return id, nil
	}
	return readRef(ctx, s.own, s.repo, ref)
}

func readRef(ctx context.Context, r *runner, dir, ref string) (string, error) {
	res, err := r.run(ctx, call{dir: dir, args: []string{"rev-parse", "--quiet", "--verify", ref}, ok: []int{1}})
	if err != nil {
		return "", fmt.Errorf("read reference %s: %w", ref, err)
	}
	return res.line(), nil
}

// Anchor writes length and head of a run's journal to a reference of Forge's
// own, durably: a journal cannot show by itself that its tail was cut off.
func (s *Store) Anchor(ctx context.Context, run string, count int64, head string) error {
	ref := "refs/forge/journal/" + run
	if err := checkRef(ref); err != nil {
		return err
	}
	if count < 0 || strings.ContainsAny(head, " \n") {
		return fmt.Errorf("anchor run %s: bad head %d %q", run, count, head)
	}
	data := strconv.FormatInt(count, 10) + " " + head + "\n"
	id, err := s.writeHere(object{"blob", []byte(data)})
	if err != nil {
		return fmt.Errorf("anchor run %s: %w", run, err)
	}
	return s.updateRef(ctx, ref, id, "", true)
}

// ReadAnchor returns what Anchor last wrote; ok is false when it never did.
func (s *Store) ReadAnchor(ctx context.Context, run string) (count int64, head string, ok bool, err error) {
	ref := "refs/forge/journal/" + run
	id, err := s.ReadRef(ctx, ref)
	if err != nil || id == "" {
		return 0, "", false, err
	}
	line, err := s.anchorLine(ctx, id)
	if err != nil {
		return 0, "", false, fmt.Errorf("read anchor of run %s: %w", run, err)
	}
	number, head, found := strings.Cut(line, " ")
	count, err = strconv.ParseInt(number, 10, 64)
	if err != nil || !found {
		return 0, "", false, fmt.Errorf("read anchor of run %s: unreadable: %q", run, line)
	}
	return count, head, true, nil
}

func (s *Store) anchorLine(ctx context.Context, id string) (string, error) {
	if o, ok := s.readHere(id); ok && o.kind == "blob" {
		return strings.TrimSuffix(string(o.data), "\n"), nil
	}
	res, err := s.git(ctx, call{args: []string{"cat-file", "blob", id}})
	return res.line(), err
}
