package web

import (
	"net/http"
	"net/url"
	"strings"
)

// longestValue is how long one part of an address may be, in bytes: what a file
// system takes as a path.
const longestValue = 4096

// checkAddress refuses an address in which something stands that names nothing
// anywhere: neither a row, nor a file, nor a commit. What is behind, git and file
// systems above all, need not tell that from trouble of their own. Line feeds and
// bytes that are no text are not among it, since files are called so.
func checkAddress(u *url.URL) error {
	names := strings.Split(u.Path, "/")
	for name, values := range u.Query() {
		names = append(append(names, name), values...)
	}
	for _, name := range names {
		if strings.Contains(name, "\x00") {
			return &Complaint{http.StatusBadRequest, "That address holds a character that is in no name.", ""}
		}
		if len(name) > longestValue {
			return &Complaint{http.StatusBadRequest, "That address holds a name that is too long.", ""}
		}
	}
	return nil
}
