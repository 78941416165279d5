package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// References that lie in files are read here, and Forge's own are written: as git does,
// with a lock beside the file first, which stays with whoever made it.

// refHere is where one of Forge's own references points, "" = it does not exist. ok is
// false where git has to be asked.
func (s *Store) refHere(ref string) (id string, ok bool) { return refIn(s.repo, ref) }

func refIn(gitDir, ref string) (id string, ok bool) {
	data, err := readSmall(filepath.Join(gitDir, filepath.FromSlash(ref)))
	switch {
	case err == nil && data != nil:
		id = strings.TrimSuffix(string(data), "\n")
		return id, isID(id)
	case err != nil && !absent(err):
		return "", false
	}
	packed, ok := packedRefs(gitDir, ref)
	return packed[ref], ok
}

// headIn is the reference that HEAD of a repository is at, "" where it is at none, and the
// commit. It is false where git has to be asked, and where there is none yet.
func headIn(gitDir string) (ref, id string, ok bool) {
	path := filepath.Join(gitDir, "HEAD")
	// Git once made a link of it, to the file of the reference.
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return "", "", false
	}
	data, err := readSmall(path)
	if err != nil {
		return "", "", false
	}
	id = strings.TrimSuffix(string(data), "\n")
	if ref, symbolic := strings.CutPrefix(id, "ref: "); symbolic {
		if !validRef(ref) {
			return "", "", false
		}
		id, ok = refIn(gitDir, ref)
		return ref, id, ok && isID(id)
	}
	return "", id, isID(id)
}

// userCommit is the commit of the user's repository that an id or the full name of a
// reference names. It is false where git has to be asked, and where there is none.
func (s *Store) userCommit(rev string) (id string, ok bool) {
	if id = rev; !isID(rev) {
		if !validRef(rev) || s.gitDir != s.commonDir || exists(s.commonDir, "reftable") {
			return "", false
		}
		if id, ok = refIn(s.commonDir, rev); !ok {
			return "", false
		}
	}
	return id, isCommitIn(s.objects, id)
}

// isCommitIn says that a commit lies in a file of its own in one of these folders.
func isCommitIn(objects []string, id string) bool {
	o, ok := readIn(objects, id)
	return ok && o.kind == "commit"
}

// refsIn are the references of a repository below a prefix that ends with "/". ok is false
// where git has to be asked.
func refsIn(gitDir, prefix string) (refs map[string]string, ok bool) {
	if _, err := os.Lstat(filepath.Join(gitDir, "reftable")); !absent(err) {
		return nil, false
	}
	refs = map[string]string{}
	err := filepath.WalkDir(filepath.Join(gitDir, filepath.FromSlash(prefix)), func(path string, d fs.DirEntry, err error) error {
		if absent(err) {
			return nil // none, or it has gone
		}
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		data, err := readSmall(path)
		if data == nil && err == nil {
			return nil
		}
		id := strings.TrimSuffix(string(data), "\n")
		if err == nil && !isID(id) {
			err = fs.ErrInvalid
		}
		refs[filepath.ToSlash(strings.TrimPrefix(path, gitDir+"/"))] = id
		return err
	})
	packed, ok := packedRefs(gitDir, prefix)
	for ref, id := range packed {
		if _, loose := refs[ref]; !loose {
			refs[ref] = id
		}
	}
	return refs, ok && err == nil
}

// absent says that there is no such file, or no folder where its own would be.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// packedRefs are the references that "git pack-refs" has put together, with names that
// begin so.
func packedRefs(gitDir, prefix string) (map[string]string, bool) {
	data, err := readSmall(filepath.Join(gitDir, "packed-refs"))
	if err != nil {
		return nil, false
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(data)) {
		id, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "^"), ok && !strings.HasPrefix(ref, prefix):
		case !ok || !isID(id) || !strings.HasSuffix(line, "\n"):
			return nil, false
		default:
			refs[ref] = id
		}
	}
	return refs, true
}

// updateHere is UpdateRef without git, for an id that is here. done is false where git
// has to be asked: somebody else holds the reference, or something stands in its way.
func (s *Store) updateHere(ref, id, old string, durable bool) (done bool, err error) {
	if _, ok := s.readHere(id); !ok {
		return false, nil
	}
	packed, ok := packedRefs(s.repo, "refs/")
	if !ok {
		return false, nil
	}
	for other := range packed {
		if strings.HasPrefix(other, ref+"/") || strings.HasPrefix(ref, other+"/") {
			return false, nil
		}
	}
	path := filepath.Join(s.repo, filepath.FromSlash(ref))
	lock, err := createIn(path + ".lock")
	if err != nil {
		return false, nil
	}
	was, ok := s.refHere(ref)
	if ok && old != "" && was != strings.TrimPrefix(old, ZeroID) {
		if err := errors.Join(lock.Close(), os.Remove(lock.Name())); err != nil {
			return true, err
		}
		return true, &MovedError{Ref: ref, Want: old}
	}
	if ok {
		_, err = lock.WriteString(id + "\n")
		if err == nil && durable {
			err = lock.Sync()
		}
	}
	if err = errors.Join(err, lock.Close()); err == nil && ok {
		if err = os.Rename(lock.Name(), path); err == nil {
			return true, nil
		}
	}
	return false, os.Remove(lock.Name())
}
