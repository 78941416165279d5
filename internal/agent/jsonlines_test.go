package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
)

// recorder notes what a reader of lines is told, in a form that two of them
// can be compared by.
type recorder struct {
	names map[field]string
	now   []string
	lines []string
	text  strings.Builder
}

func (r *recorder) object(f field) { r.now = append(r.now, r.names[f]+" {}") }

func (r *recorder) value(f field, kind byte, part []byte, last bool) {
	r.text.Write(part)
	if last {
		r.now = append(r.now, fmt.Sprintf("%s %c %q", r.names[f], kind, string([]rune(r.text.String()))))
		r.text.Reset()
	}
}

func (r *recorder) line(ok bool) {
	if !ok {
		r.now = []string{"broken"}
	}
	// An object of Go has no order of keys.
	slices.Sort(r.now)
	r.lines = append(r.lines, strings.Join(r.now, "\n"))
	r.now = nil
	r.text.Reset()
}

var testFields = map[string]field{"type": 1, "message.content[]": 2, "message.content[].text": 3, "n": 4, "list[]": 5, "deep[][].x": 6}

func record(write func(*jsonLines)) []string {
	r := &recorder{names: map[field]string{}}
	for name, f := range testFields {
		r.names[f] = name
	}
	j := newJSONLines(testFields, r)
	write(j)
	j.close()
	return r.lines
}

// slowLines reads lines with encoding/json: the obvious twin.
func slowLines(text []byte) []string {
	var out []string
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(bytes.Trim(line, " \t\r")) == 0 {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		var v map[string]any
		if !json.Valid(line) || bytes.TrimLeft(line, " \t\r")[0] != '{' || d.Decode(&v) != nil {
			out = append(out, "broken")
			continue
		}
		var found []string
		slowValue(&found, "", v)
		slices.Sort(found)
		out = append(out, strings.Join(found, "\n"))
	}
	return out
}

func slowValue(found *[]string, path string, v any) {
	_, wanted := testFields[path]
	scalar := func(kind byte, text string) {
		if wanted {
			*found = append(*found, fmt.Sprintf("%s %c %q", path, kind, text))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if wanted {
			*found = append(*found, path+" {}")
		}
		for k, e := range v {
			if strings.ContainsAny(k, ".[") {
				continue
			}
			slowValue(found, strings.TrimPrefix(path+"."+k, "."), e)
		}
	case []any:
		for _, e := range v {
			slowValue(found, path+"[]", e)
		}
	case string:
		scalar('"', v)
	case json.Number:
		scalar('0', v.String())
	case bool:
		scalar(fmt.Sprint(v)[0], fmt.Sprint(v))
	case nil:
		scalar('n', "null")
	}
}

var lineSamples = []string{
	`{"type":"a","message":{"content":[{"text":"x\ny","type":"text"},{"text":"\ud83d\ude00 \ud83d \u00e9\/"}]},"n":-1.5e+3}`,
	`  { "list" : [ 1 , true , null , "s" , {} , [] ] , "deep":[[{"x":1}],[{"x":"2"}],[]] }  `,
	"{\"type\":\"\xff\xc3(\"}\n\n{\"n\":01}\n{\"n\":1} x\n{\"type\":\"raw\x01\"}\n[1]\n7\n\"s\"\n{\"a\":}\n{,}\n{\"a\":1,}\n[",
	`{"message.content[]":{"text":"no"},"message.content[].text":"no","type":{"type":"no"}}`,
	`{"type":"half`, `{"n":-}`, `{"n":1.}`, `{"n":1e}`, `{"n":tru}`, `{"type":"\x"}`, `{"type":"\u12g4"}`, `{"n":1]`, `{"list":[1}`, `{}`,
	`{"message":{"content":"plain"},"message":{"content":[{"text":1}]}}`,
	"{\"type\":\"a\"}\r\n{\"type\":\"b\"}",
}

func TestJSONLinesLikeItsTwin(t *testing.T) {
	for _, s := range lineSamples {
		if twice([]byte(s)) {
			continue
		}
		want := slowLines([]byte(s))
		for _, cut := range []int{1, 2, 3, 7, 1 << 20} {
			got := record(func(j *jsonLines) {
				for part := range slices.Chunk([]byte(s), cut) {
					_, _ = j.Write(part)
				}
			})
			if !slices.Equal(got, want) {
				t.Errorf("%q in parts of %d:\ngot  %q\nwant %q", s, cut, got, want)
			}
		}
	}
}

// What is not asked for, and lines of any length, take no memory.
func TestJSONLinesMemory(t *testing.T) {
	pace.Sequential(t, "one text is read")
	fill := bytes.Repeat([]byte(`filler \" \u00e9 \n `), 64<<10)
	r := &counter{}
	j := newJSONLines(testFields, r)
	allocs := testing.AllocsPerRun(1, func() {
		for _, begin := range []string{`{"other":{"a":["`, `{"type":"`, `{"message":{"content":[{"text":"`} {
			_, _ = j.Write([]byte(begin))
			for range 20 {
				_, _ = j.Write(fill)
			}
			_, _ = j.Write([]byte("\"}\n"))
		}
	})
	if allocs > 50 {
		t.Errorf("%v allocations for lines of %d MB", allocs, 20*len(fill)>>20)
	}
	if r.most > partBytes && r.most > len(fill) {
		t.Errorf("a part of %d bytes", r.most)
	}
}

type counter struct{ most int }

func (c *counter) object(field)                               {}
func (c *counter) value(_ field, _ byte, part []byte, _ bool) { c.most = max(c.most, len(part)) }
func (c *counter) line(bool)                                  {}

func TestJSONLinesDepth(t *testing.T) {
	deep := strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)
	if got := record(func(j *jsonLines) { _, _ = j.Write([]byte(deep + "\n{\"n\":1}")) }); !slices.Equal(got, []string{"broken", `n 0 "1"`}) {
		t.Errorf("got %q", got)
	}
}

func FuzzJSONLines(f *testing.F) {
	for _, s := range lineSamples {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		got := record(func(j *jsonLines) {
			for part := range slices.Chunk(text, int(cut)+1) {
				_, _ = j.Write(part)
			}
		})
		want := slowLines(text)
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i, line := range nonEmptyLines(text) {
			if got[i] == want[i] || got[i] == "broken" && beyond(line) || twice(line) {
				continue
			}
			t.Fatalf("line %q\ngot  %q\nwant %q", line, got[i], want[i])
		}
	})
}

func nonEmptyLines(text []byte) (out [][]byte) {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(bytes.Trim(line, " \t\r")) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// beyond says that a line may hold more depth or longer numbers than are read.
func beyond(line []byte) bool {
	return bytes.Count(line, []byte("{"))+bytes.Count(line, []byte("[")) > maxDepth || len(line) > maxTokenBytes
}

// twice says that an object of a line has a key twice, or one of a length that
// is not kept: its twin does otherwise there.
func twice(line []byte) bool {
	if len(line) > maxPathBytes {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(line))
	var open []map[string]bool // nil for an array
	key := true
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		n := len(open) - 1
		inObject := n >= 0 && open[n] != nil
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				open, key = append(open, map[string]bool{}), true
			case '[':
				open = append(open, nil)
			default:
				open, key = open[:n], true
			}
			continue
		case string:
			if inObject && key {
				if open[n][token] {
					return true
				}
				open[n][token], key = true, false
				continue
			}
		}
		key = true
	}
}
