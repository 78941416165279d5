package verify

import (
	"io/fs"
	"syscall"
)

// errNotDir says that a part of a path is no folder any more.
const errNotDir = syscall.ENOTDIR

func stampOf(info fs.FileInfo) stamp {
	s := stamp{Mode: info.Mode(), Size: info.Size()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Changed, s.Inode = st.Ctim.Nano(), st.Ino
	}
	return s
}
