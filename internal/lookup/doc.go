// Package lookup finds where something was said, decided or written in the runs,
// on the board and in the files of a checkout: it gathers them into the checkout's
// search index and asks that.
package lookup
