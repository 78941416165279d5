package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPicture(t *testing.T) {
	frames := []frame{
		{[]string{"$ forge do", ""}, time.Second},
		{[]string{"$ forge do", "\x1b[1m\x1b[32mdone\x1b[0m <a & b> \x1b[2mfaint"}, 3 * time.Second},
	}
	got := picture(frames, 40, 2, "a <title>")
	for _, want := range []string{
		`<title>a &lt;title&gt;</title>`,
		`0%{transform:translateX(-0px)}25%{transform:translateX(-364px)}`,
		`animation:s 4s steps(1,end) infinite`,
		`<text x="0" y="13" textLength="33.6" fill="#3fb950" font-weight="bold">done</text>`,
		`> &lt;a &amp; b&gt; </text>`,
		`opacity=".6">faint</text>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	if n := strings.Count(got, ">$ forge do</text>"); n != 1 {
		t.Errorf("a line of two frames is drawn %d times", n)
	}
	if n := strings.Count(got, `<use href="#l0"`); n != 2 {
		t.Errorf("a line of two frames is shown %d times", n)
	}
	if err := parse(got); err != nil {
		t.Error(err)
	}
}

// Whatever stands on a terminal, the picture is XML that has its words.
func TestPictureIsXML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SliceOf(rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`\x1b\[[0-9;:]{0,12}m`),
			rapid.SampledFrom([]string{"\x1b]8;;http://x\a", "\x1b[2J", "<script>", "&", "é漢", "\x00"}),
		)).Draw(t, "line")
		got := picture([]frame{{[]string{strings.Join(line, "")}, time.Second}}, 20, 1, "t")
		if err := parse(got); err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
		if strings.Contains(got, "<script") {
			t.Fatal("what stood on the terminal acts")
		}
	})
}

func parse(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestStyleAfter(t *testing.T) {
	for numbers, want := range map[string]style{
		"":                        {},
		"1;31":                    {Bold: true, Ink: "#ff7b72"},
		"96;44":                   {Ink: "#56d4dd", Ground: "#58a6ff"},
		"38;5;196":                {Ink: "#ff0000"},
		"48;5;244;7":              {Ground: "#808080", Reverse: true},
		"38;2;1;2;3;2":            {Ink: "#010203", Faint: true},
		"1;2;7;31;41;22;27;39;49": {},
		"38;5":                    {},
		"38;5;999":                {},
		"1;99999999999999999999":  {Bold: true},
	} {
		if got := (style{}).after(numbers); got != want {
			t.Errorf("%q: %+v, want %+v", numbers, got, want)
		}
	}
	if got := (style{Bold: true}).after("0"); got != (style{}) {
		t.Errorf("0 leaves %+v", got)
	}
}

func TestShortened(t *testing.T) {
	a, b := []string{"a"}, []string{"b"}
	got := shortened([]frame{{a, 1}, {a, 2}, {b, 9}, {a, 1}}, 5)
	want := []frame{{a, 3}, {b, 5}, {a, 1}}
	if !slices.EqualFunc(got, want, func(x, y frame) bool { return slices.Equal(x.Lines, y.Lines) && x.For == y.For }) {
		t.Errorf("%v, want %v", got, want)
	}
}
