package orchestrator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// filled is a value of type t in which no field is zero. never are the fields
// that the form leaves out.
func filled(t *testing.T, typ reflect.Type, name string, above []reflect.Type, never map[string]bool) reflect.Value {
	t.Helper()
	v := reflect.New(typ).Elem()
	switch {
	case typ == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)))
		return v
	case typ == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"name":1}`))
		return v
	case slices.Contains(above, typ):
		return v // it holds itself
	}
	above = append(slices.Clip(above), typ)
	switch typ.Kind() {
	case reflect.String:
		v.SetString(strings.ToLower(name))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(len(name)))
	case reflect.Float64:
		v.SetFloat(float64(len(name)) / 4)
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(filled(t, typ.Elem(), name, above, never))
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t, typ.Elem(), name, above, never)))
	case reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(filled(t, typ.Key(), name, above, never), filled(t, typ.Elem(), name, above, never))
	case reflect.Struct:
		for i := range typ.NumField() {
			f := typ.Field(i)
			switch at := typ.Name() + "." + f.Name; {
			case !f.IsExported():
				t.Errorf("%s is not exported: it is lost on the way", at)
			case f.Tag.Get("json") == "-":
				never[at] = true
			default:
				v.Field(i).Set(filled(t, f.Type, f.Name, above, never))
			}
		}
	default:
		t.Errorf("%s: there is no form for a %s", name, typ)
	}
	return v
}

// goes writes a value, reads it again, and holds the form against the file that
// keeps it.
func goes[T any](t *testing.T, what, kind string, zero T, encode func(T) ([]byte, error), decode func([]byte) (T, error), never map[string]bool) {
	value := filled(t, reflect.TypeOf(zero), kind, nil, never).Interface().(T)
	data, err := encode(value)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, value) {
		t.Errorf("it came back as\n%+v\nwant\n%+v", back, value)
	}
	if back, err := decode(must(encode(zero))); err != nil || reflect.TypeOf(back) != reflect.TypeOf(zero) {
		t.Errorf("the empty one came back as %+v, %v", back, err)
	}

	var got bytes.Buffer
	if err := json.Indent(&got, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	file := filepath.Join("testdata", "wire", fmt.Sprintf("%s-%s.v%d.json", what, kind, wireVersion))
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (new kinds: go test -run TestWireForm -update)", err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the form is another one than %s. Where that is meant, raise wireVersion once a release uses it, and make the files anew with -update. Now it is\n%s", file, got.String())
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// Every field of every effect and fact survives the way, and the form is what
// the files say.
func TestWireForm(t *testing.T) {
	never := map[string]bool{}
	for kind, zero := range wireEffects() {
		t.Run("effect-"+kind, func(t *testing.T) { goes(t, "effect", kind, zero, EncodeEffect, DecodeEffect, never) })
	}
	for kind, zero := range wireFacts() {
		t.Run("fact-"+kind, func(t *testing.T) { goes(t, "fact", kind, zero, EncodeFact, DecodeFact, never) })
	}
	// What the effect itself reads of a report.
	if got := slices.Sorted(maps.Keys(never)); !slices.Equal(got, []string{"IterationReport.Short", "IterationReport.Whole"}) {
		t.Errorf("left out are %q, want the whole last message and what ran out", got)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "wire", fmt.Sprintf("*.v%d.json", wireVersion)))
	if want := len(wireEffects()) + len(wireFacts()); err != nil || len(files) != want {
		t.Errorf("%d files, want %d: one for each kind (%v)", len(files), want, err)
	}
}

// No effect and no fact is without a kind.
func TestEveryKindHasAForm(t *testing.T) {
	have := map[string]bool{"settled": true} // the core tells it itself
	for _, e := range wireEffects() {
		have[reflect.TypeOf(e).Name()] = true
	}
	for _, f := range wireFacts() {
		have[reflect.TypeOf(f).Name()] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "effect" && fn.Name.Name != "fact" {
				continue
			}
			declared++
			if of := fn.Recv.List[0].Type.(*ast.Ident).Name; !have[of] {
				t.Errorf("%s has no kind in wire.go", of)
			}
		}
	}
	if declared != len(have) {
		t.Errorf("%d are declared, %d have a form", declared, len(have))
	}
}

func TestWhatIsNotReadFromTheWire(t *testing.T) {
	for data, want := range map[string]string{
		``:                                  "EOF",
		`{`:                                 "unexpected EOF",
		`{"kind":"tock","version":1}`:       `unknown kind "tock" (known: answered, arbiter, began`,
		`{"kind":"tick","version":2}`:       "both sides need the same release",
		`{"kind":"tick","data":{}}`:         "version 0",
		`{"kind":"tick","version":1}`:       "EOF",
		`{"kind":"tick","version":1,"x":1}`: `unknown field "x"`,
		`{"kind":"stop","version":1,"data":{"Why":"x"}}`: `unknown field "Why"`,
		`{"kind":"tick","version":1,"data":{}}{}`:        "more follows",
	} {
		if f, err := DecodeFact([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is read as %+v, %v; want an error with %q", data, f, err, want)
		}
	}
	if _, err := EncodeFact(settled{}); err == nil {
		t.Error("what the core tells itself has a form")
	}
	if e, err := DecodeEffect([]byte(`{"kind":"tick","version":1,"data":{}}`)); err == nil {
		t.Errorf("a fact is read as the effect %+v", e)
	}
}
