package git

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Objects that lie in files of their own are read and written here. What a run makes
// does, and a git that is started for one of them works some hundred times as much.
// What is packed is git's.

// object is one of git's: a blob, a tree, a commit or a tag.
type object struct {
	kind string
	data []byte
}

// mostLoose is how large an object may be that is read here, in bytes.
const mostLoose = 1 << 20

// readHere reads an object from a file of its own, of Forge's repository or of one that
// it borrows from. ok is false where git has to be asked: the object is packed, or
// large, or its file does not hold what its name says.
func (s *Store) readHere(id string) (o object, ok bool) { return readIn(s.objectFolders(), id) }

func readIn(folders []string, id string) (o object, ok bool) {
	if !isID(id) {
		return object{}, false
	}
	for _, dir := range folders {
		if o, ok = readLoose(looseFile(dir, id), id); ok {
			return o, true
		}
	}
	return object{}, false
}

// objectFolders are where git looks for objects, Forge's own first.
func (s *Store) objectFolders() []string {
	return append(append([]string{s.Objects()}, s.objects...), s.also...)
}

func looseFile(dir, id string) string { return filepath.Join(dir, id[:2], id[2:]) }

func readLoose(path, id string) (object, bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would be waited for
	if err != nil {
		return object{}, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > mostLoose {
		return object{}, false
	}
	z, err := zlib.NewReader(f)
	if err != nil {
		return object{}, false
	}
	whole, err := io.ReadAll(io.LimitReader(z, mostLoose+1))
	if err != nil || len(whole) > mostLoose || idOf(whole) != id {
		return object{}, false
	}
	head, data, _ := bytes.Cut(whole, []byte{0})
	kind, size, _ := strings.Cut(string(head), " ")
	return object{kind, data}, size == strconv.Itoa(len(data))
}

// idOf is the id of an object with its head.
func idOf(whole []byte) string {
	sum := sha1.Sum(whole)
	return hex.EncodeToString(sum[:])
}

// whole is an object with its head.
func (o object) whole() []byte {
	return append([]byte(o.kind+" "+strconv.Itoa(len(o.data))+"\x00"), o.data...)
}

var deflaters = sync.Pool{New: func() any { return newDeflater() }}

// newDeflater packs as fast as git does.
func newDeflater() *zlib.Writer {
	z, err := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	if err != nil {
		panic(err) // there is no such level
	}
	return z
}

// writeHere makes an object of Forge's own repository durable and returns its id. One that
// is there is younger afterwards, so that no collection that goes on takes it.
func (s *Store) writeHere(o object) (id string, err error) {
	whole := o.whole()
	id = idOf(whole)
	path := looseFile(s.Objects(), id)
	if _, ok := readLoose(path, id); ok { // not one that a power cut left empty
		if now := time.Now(); os.Chtimes(path, now, now) == nil {
			return id, nil
		}
	}
	// The name is one of those that git takes for leftovers after a while.
	tmp, err := createIn(filepath.Join(filepath.Dir(path), "tmp_obj_"+rand.Text()))
	if err != nil {
		return "", err
	}
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(tmp)
	_, err = z.Write(whole)
	err = errors.Join(err, z.Close(), tmp.Chmod(0o444), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(tmp.Name()))
	}
	return id, nil
}

// createIn makes a file that is not there, and the folders above it. A git that packs
// may remove one of these as soon as it is made, since it is empty.
func createIn(path string) (*os.File, error) {
	for tries := 0; ; tries++ {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrNotExist) || tries == 10 {
			return f, err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// looseTree is the tree of a commit, or a tree itself, where it can be read here.
func (s *Store) looseTree(id string) (tree string, ok bool) {
	o, ok := s.readHere(id)
	switch {
	case ok && o.kind == "tree":
		return id, true
	case ok && o.kind == "commit":
		line, _, _ := strings.Cut(string(o.data[:min(len(o.data), 60)]), "\n")
		tree, ok = strings.CutPrefix(line, "tree ")
		return tree, ok && isID(tree)
	}
	return "", false
}

// looseEntries is entries where all of its trees can be read here.
func (s *Store) looseEntries(id string) (map[string]string, bool) {
	tree, ok := s.looseTree(id)
	all := map[string]string{}
	read := 0
	var walk func(tree, prefix string, depth int) bool
	walk = func(tree, prefix string, depth int) bool {
		o, ok := s.readHere(tree)
		if read++; !ok || o.kind != "tree" || read > mostListed || depth > deepest {
			return false
		}
		for rest := o.data; len(rest) > 0; {
			head, after, ok := bytes.Cut(rest, []byte{0})
			mode, name, named := strings.Cut(string(head), " ")
			if !ok || !named || name == "" || strings.Contains(name, "/") || len(after) < sha1.Size || len(all) >= mostListed {
				return false
			}
			id := hex.EncodeToString(after[:sha1.Size])
			rest = after[sha1.Size:]
			switch mode {
			case "40000":
				if !walk(id, prefix+name+"/", depth+1) {
					return false
				}
			case "100644", "100755", "120000":
				all[prefix+name] = mode + " blob " + id
			case submoduleMode:
				all[prefix+name] = mode + " commit " + id
			default:
				return false // of an old git
			}
		}
		return true
	}
	if !ok || !walk(tree, "", 0) {
		return nil, false
	}
	return all, true
}

// deepest is how many folders may lie in each other where trees are read here.
const deepest = 200

// writeTrees writes the trees of files that tree, which holds others, does not have, and
// returns the one that holds them all.
func (s *Store) writeTrees(tree string, others, files map[string]string) (root string, err error) {
	there := map[string]bool{}
	is, err := trees(others, func(o object) (string, error) {
		id := idOf(o.whole())
		there[id] = true
		return id, nil
	})
	if err != nil {
		return "", err
	}
	if is != tree { // it has folders without a file, say: then others are nowhere as they are here
		clear(there)
	}
	return trees(files, func(o object) (string, error) {
		if id := idOf(o.whole()); there[id] {
			return id, nil
		}
		return s.writeHere(o)
	})
}

// trees calls put for each tree of files, those of folders first, and returns what it
// returned for the last: the one that holds them all. A tree is in the order of its
// paths' bytes.
func trees(files map[string]string, put func(object) (string, error)) (root string, err error) {
	paths := slices.Sorted(maps.Keys(files))
	var tree func(prefix string) (string, error)
	tree = func(prefix string) (string, error) {
		var data []byte
		for len(paths) > 0 && strings.HasPrefix(paths[0], prefix) {
			name, id, mode := paths[0][len(prefix):], "", "40000"
			if dir, _, below := strings.Cut(name, "/"); below {
				name = dir
				if id, err = tree(prefix + dir + "/"); err != nil {
					return "", err
				}
			} else {
				part := strings.Split(files[paths[0]], " ")
				mode, id = part[0], part[2]
				paths = paths[1:]
			}
			raw, err := hex.DecodeString(id)
			if err != nil {
				return "", err
			}
			data = append(append(data, mode+" "+name+"\x00"...), raw...)
		}
		return put(object{"tree", data})
	}
	return tree("")
}
