package jobs

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"forge/internal/refusal"
	"forge/internal/text"
)

// Bounds of the documents that a job is given: how many, and in bytes each and
// all together.
const (
	MaxDocuments     = 50
	MaxDocumentBytes = 8 << 20
	MaxDocumentsSize = 32 << 20
)

// Document is a file that somebody gives a job to read.
type Document struct {
	Name string // as its owner calls it
	Data []byte
}

// CheckCount refuses more documents than a job may have.
func CheckCount(n int) error {
	if n > MaxDocuments {
		return refusal.New("put what belongs together into one file", "%d documents, more than %d", n, MaxDocuments)
	}
	return nil
}

// named are documents by the names that they get in the job's folder.
func named(docs []Document) (map[string][]byte, error) {
	if err := CheckCount(len(docs)); err != nil {
		return nil, err
	}
	out, total := map[string][]byte{}, 0
	for _, d := range docs {
		if total += len(d.Data); len(d.Data) > MaxDocumentBytes || total > MaxDocumentsSize {
			return nil, refusal.New("", "a document has at most %d MB, all together %d", MaxDocumentBytes>>20, MaxDocumentsSize>>20)
		}
		out[documentName(d.Name, out)] = d.Data
	}
	return out, nil
}

// documentName makes a name safe: letters, digits, points, _ and -, not hidden,
// and unlike every name that is taken, also where case does not count.
func documentName[T any](name string, taken map[string]T) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, strings.ToValidUTF8(name, "-"))
	name = cmp.Or(strings.Trim(name, ".-"), "document")
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	stem = text.Cut(stem, 80)
	if len(ext) > 20 {
		ext = ""
	}
	name = stem + ext
	for n := 2; ; n++ {
		free := true
		for other := range taken {
			free = free && !strings.EqualFold(other, name)
		}
		if free {
			return name
		}
		name = fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
}
