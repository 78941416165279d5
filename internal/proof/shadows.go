package proof

import (
	"path"
	"strings"
)

// shadow finds a new file that would be loaded in the place of a runner, a
// standard library, a dependency, or a file of evidence.
func (m *Map) shadow(file string) (Seen, bool) {
	lang := language(file)
	if lang == "" {
		return Seen{}, false
	}
	stem := strings.TrimSuffix(file, path.Ext(file))
	for _, at := range []string{stem, path.Dir(file)} {
		if at == path.Dir(file) {
			switch path.Base(stem) {
			case "__init__", "index", "mod":
			default:
				continue
			}
		}
		if old, ok := m.Modules[at]; ok && language(old) == lang {
			return m.is(Evidence, RuleShadows, "it is loaded in the place of %s", old), true
		}
	}
	if lang == "c" && !strings.HasPrefix(path.Ext(file), ".h") {
		return Seen{}, false
	}
	for root := range m.LoadRoots[lang] {
		rest := stem
		if root != "." {
			inside, ok := strings.CutPrefix(stem, root+"/")
			if !ok {
				continue
			}
			rest = inside
		}
		if name, ok := m.foreignName(lang, rest); ok {
			return m.is(Evidence, RuleShadows, "it is loaded in the place of %s", name), true
		}
	}
	return Seen{}, false
}

// foreignName finds the library that a module of this name hides. rest is its
// path below a folder that imports begin at.
func (m *Map) foreignName(lang, rest string) (string, bool) {
	first, _, _ := strings.Cut(rest, "/")
	switch lang {
	case "java":
		// A class in the package of somebody else's.
		parts := strings.Split(rest, "/")
		for name := range m.Outside[lang] {
			theirs := strings.Split(name, "/")
			if len(parts) > 2 && len(theirs) > 2 && parts[0] == theirs[0] && parts[1] == theirs[1] {
				return strings.Join(parts[:2], "."), true
			}
		}
		switch first {
		case "java", "javax", "kotlin", "scala", "junit", "jdk", "sun":
			return first, true
		}
		return "", false
	case "php", "go", "rust", "shell":
		return "", false
	case "c":
		base := path.Base(rest)
		for name := range m.Outside[lang] {
			if strings.TrimSuffix(name, path.Ext(name)) == base {
				return name, true
			}
		}
		return base, standardNames["c"][base]
	}
	flat := strings.ToLower(strings.ReplaceAll(first, "-", "_"))
	for _, name := range []string{first, flat} {
		if m.Outside[lang][name] || standardNames[lang][name] || runnerNames[lang][name] {
			return name, true
		}
	}
	return "", false
}

// loadRoots notes where imports begin: of Python the top, source roots, and
// folders of sources that are no package; a script's own folder is one of them.
func (sv *survey) loadRoots() {
	for _, root := range []string{".", "src", "lib", "python"} {
		note(sv.LoadRoots, "python", root)
		note(sv.LoadRoots, "ruby", root)
	}
	for _, root := range []string{".", "include", "src", "lib"} {
		note(sv.LoadRoots, "c", root)
	}
	note(sv.LoadRoots, "script", ".")
	for _, p := range sv.paths {
		f := sv.files[p]
		dir := path.Dir(p)
		switch f.lang {
		case "python":
			if sv.files[path.Join(dir, "__init__.py")] == nil {
				note(sv.LoadRoots, "python", dir)
			}
		case "java":
			for at := dir; at != "."; at = path.Dir(at) {
				switch path.Base(at) {
				case "java", "kotlin", "scala", "groovy", "src":
					note(sv.LoadRoots, "java", at)
				}
			}
			note(sv.LoadRoots, "java", ".")
		case "c":
			note(sv.LoadRoots, "c", dir)
		}
	}
}

// runnerNames are the modules of test runners and what they load by themselves.
var runnerNames = map[string]map[string]bool{
	"python": set("pytest _pytest pluggy iniconfig packaging nose nose2 tox nox coverage hypothesis mock sitecustomize usercustomize conftest setuptools pip pkg_resources _distutils_hack trial twisted behave robot exceptiongroup tomli py attr attrs xdist pytest_cov pytest_asyncio anyio"),
	"script": set("mocha jest vitest ava tap tape chai expect sinon assert should uvu jasmine karma cypress playwright c8 nyc node_modules"),
	"ruby":   set("minitest rspec test-unit test_unit rspec_core rspec_expectations rake bundler simplecov mocha webmock spec_helper test_helper rails_helper"),
}

// standardNames are the modules of the standard libraries that a file of the
// project can hide.
var standardNames = map[string]map[string]bool{
	"python": set(`__future__ __main__ _abc _ast _asyncio _bisect _bootsubprocess _codecs _collections _collections_abc _compat_pickle _compression _contextvars _csv _ctypes
		_datetime _decimal _elementtree _functools _heapq _imp _io _json _locale _markupbase _operator _osx_support _pickle _py_abc _pydatetime _pydecimal _pyio _pylong
		_queue _random _signal _sitebuiltins _socket _sqlite3 _sre _ssl _stat _statistics _string _strptime _struct _symtable _sysconfigdata _thread _threading_local _tkinter _tracemalloc _typing
		_uuid _warnings _weakref _weakrefset _zoneinfo abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins
		bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg
		crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch
		fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io
		ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis
		nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint
		profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve
		shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess
		sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback
		tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp
		zipfile zipimport zlib zoneinfo`),
	"script": set(`assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events fs http http2 https inspector module net os path
		perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads zlib test sea sqlite`),
	"ruby": set(`abbrev base64 benchmark bigdecimal bundler cgi coverage csv date delegate did_you_mean digest drb English erb error_highlight etc fcntl fiddle fileutils find forwardable getoptlong
		io ipaddr irb json logger matrix monitor mutex_m net nkf objspace observer open-uri open3 openssl optparse ostruct pathname pp prettyprint prime pstore psych pty racc rdoc readline
		reline resolv rinda ripper rubygems securerandom set shellwords singleton socket stringio strscan syntax_suggest syslog tempfile time timeout tmpdir tsort un unicode_normalize uri
		weakref yaml zlib`),
	"c": set(`assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbit stdbool stddef stdint stdio stdlib stdnoreturn string
		strings tgmath threads time uchar wchar wctype unistd fcntl pthread dlfcn`),
}
