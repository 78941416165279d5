package api

import (
	"errors"
	"fmt"
	"testing"
)

// A job begins with a bounded number of documents, and they with a bounded size.
func TestDocumentsAreBounded(t *testing.T) {
	many := map[string][]byte{}
	for n := range maxDocuments {
		many[fmt.Sprint("d", n)] = []byte("x")
	}
	if err := checkDocuments(many); err != nil {
		t.Errorf("%d documents: %v", len(many), err)
	}
	many["one more"] = nil
	large := map[string][]byte{"a": make([]byte, maxDocumentBytes/2), "b": make([]byte, maxDocumentBytes/2)}
	if err := checkDocuments(large); err != nil {
		t.Errorf("as much as may be: %v", err)
	}
	large["c"] = []byte("x")
	for code, docs := range map[string]map[string][]byte{"invalid": many, "too_large": large} {
		var p *Problem
		if err := checkDocuments(docs); !errors.As(err, &p) || p.Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
}
