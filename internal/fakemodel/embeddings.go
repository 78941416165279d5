package fakemodel

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"strings"
	"unicode"
)

// DefaultDims is how many numbers a vector has where the service does not say.
const DefaultDims = 256

// embeddings answers the embeddings API. No model is behind it: a text's vector is
// made of its words and of the four letters in a row within them, so that texts with
// the same or similar words are near each other, and texts that mean the same in
// other words are not.
func (s *Server) embeddings(w http.ResponseWriter, r *http.Request, name string) {
	var ask struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	t, ok := s.turn(w, r, name, chatError, func(body []byte) (side bool, err error) {
		return false, json.Unmarshal(body, &ask)
	})
	switch {
	case !ok:
		return
	case t.Body != "":
		writeBody(w, t, []byte(t.Body))
		return
	}
	data, bytes := []object{}, 0
	for n, text := range ask.Input {
		bytes += len(text)
		data = append(data, object{"object": "embedding", "index": n, "embedding": Embed(text, s.dims(name))})
	}
	answer := object{"object": "list", "model": ask.Model, "data": data}
	if !t.NoUsage {
		answer["usage"] = object{"prompt_tokens": 1 + bytes/4, "total_tokens": 1 + bytes/4}
	}
	writeBody(w, t, marshal(answer))
}

func (s *Server) dims(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sc := s.scripts[name]; sc != nil && sc.service != nil && sc.service.Dims > 0 {
		return sc.service.Dims
	}
	return DefaultDims
}

// Embed is the vector of a text, of length one.
func Embed(text string, dims int) []float32 {
	out := make([]float32, dims)
	add := func(what string, weight float32) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(what)) // never fails
		sum := h.Sum64()
		if sum>>63 == 0 {
			weight = -weight
		}
		out[sum%uint64(dims)] += weight //nolint:gosec // it is positive
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		add(word, 1)
		for n := 0; n+4 <= len(word); n++ {
			add("~"+word[n:n+4], 0.5)
		}
	}
	length := 0.0
	for _, x := range out {
		length += float64(x) * float64(x)
	}
	if length == 0 {
		out[0], length = 1, 1
	}
	for n := range out {
		out[n] /= float32(math.Sqrt(length))
	}
	return out
}
