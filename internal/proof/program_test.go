package proof

import (
	"strings"
	"testing"
)

// A program without an ending is source by the interpreter that it names.
func TestPrograms(t *testing.T) {
	m := survey1(t, memory{
		"bin/ledger": "#!/bin/sh\necho 1\n", "bin/blob": "\x7fELF", "serve": "#!/usr/bin/env python3\nimport x\n", "x.py": "",
		"script/test": "#!/bin/sh\nexec bats test\n", "test/a.bats": "load ../share/helper\n@test \"a\" {\n\trun bin/ledger\n}\n", "share/helper.bash": "",
		"tools/lint": "#!/bin/sh\n", "Notes": "#!\n",
	}, "script/test")
	sees(t, m, Product, "bin/ledger serve x.py bin/new=#!/bin/sh")
	sees(t, m, Evidence, "bin/blob script/test test/a.bats share/helper.bash tools/lint tools/bats=#!/bin/sh bin/other other=#!/bin/sh")
	for file, want := range map[string]string{
		"a=#!/bin/bash -e": "shell", "a=#!/usr/bin/env -S FOO=1 python3.12 -u": "python", "a=#! /usr/bin/node": "script", "a.rb=#!/bin/sh": "ruby", "a=#!": "", "a=": "", "a=#!/usr/bin/env": "", "a=#!/bin/make": "", "a.txt=#!/bin/sh": "",
	} {
		name, content, _ := strings.Cut(file, "=")
		if got := languageOf(name, []byte(content)); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	if found := TestAware("bin/ledger", []byte("#!/bin/sh\n"), []byte("#!/bin/sh\ntr '\\0' ' ' </proc/$PPID/cmdline\n")); len(found) != 1 {
		t.Errorf("a program that reads who its parent is: %+v", found)
	}
}
