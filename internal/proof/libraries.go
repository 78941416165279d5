package proof

import (
	"bytes"
	"regexp"
	"strings"
)

// testLibrary names the test library that a source file uses, "" for none. It
// looks at code as written: who asks wants to know at once, of many files.
func testLibrary(lang string, content []byte) string {
	for _, lib := range testLibraries[lang] {
		if !bytes.Contains(content, lib.sign) {
			continue
		}
		if at := lib.use().FindIndex(content); at != nil {
			return lib.name
		}
	}
	return ""
}

type library struct {
	name string
	sign []byte // stands in every file that uses it
	use  func() *regexp.Regexp
}

func libraries(form string, names ...string) []library {
	var out []library
	for _, name := range names {
		pattern := "(?m)" + strings.ReplaceAll(form, "NAME", regexp.QuoteMeta(name))
		out = append(out, library{name, []byte(name), expr(pattern)})
	}
	return out
}

var testLibraries = map[string][]library{
	"go": libraries(`^\s*(import\s+)?([\w.]+\s+)?"NAME(/[\w./]*)?"`, "testing", "github.com/stretchr/testify", "pgregory.net/rapid",
		"github.com/onsi/ginkgo", "github.com/onsi/gomega", "gotest.tools", "github.com/google/go-cmp", "github.com/frankban/quicktest", "net/http/httptest"),
	"python": libraries(`^\s*(import|from)\s+NAME\b`, "pytest", "unittest", "hypothesis", "nose", "doctest", "_pytest", "pluggy", "testtools", "behave", "robot", "nox", "invoke", "django.test", "numpy.testing"),
	"script": libraries("(from|import|require\\(|import\\()\\s*['\"`]NAME(/[\\w./-]*)?['\"`]", "node:test", "vitest", "@jest/globals", "mocha", "chai", "ava", "tap", "tape", "uvu",
		"jasmine", "bun:test", "expect", "should", "sinon", "supertest", "@playwright/test", "cypress", "assert", "node:assert", "power-assert", "fast-check", "zora", "@testing-library/react", "@testing-library/dom", "@testing-library/jest-dom", "@testing-library/vue", "jest-mock", "nock", "msw/node"),
	"ruby": libraries(`^\s*require\s+['"]NAME(/[\w./-]*)?['"]`, "minitest", "rspec", "test/unit", "test-unit", "rspec-expectations", "mocha", "webmock", "vcr", "cucumber", "capybara"),
	"php":  libraries(`(use|extends|new)\s+\\?NAME\b`, "PHPUnit", "Pest", "Codeception", "Mockery", "TestCase", "Behat"),
	"java": libraries(`^\s*(import|using|open)\s+(static\s+)?NAME\b`, "org.junit", "junit.framework", "org.testng", "org.assertj", "org.hamcrest", "org.mockito", "io.kotest", "kotlin.test",
		"org.scalatest", "munit", "Xunit", "NUnit", "Microsoft.VisualStudio.TestTools", "FluentAssertions", "Moq", "XCTest", "Testing", "spock.lang", "io.mockk", "package:test", "package:flutter_test"),
	"c": append(libraries(`^\s*#\s*include\s+[<"]NAME[\w./]*[>"]`, "gtest", "gmock", "catch2", "catch.hpp", "doctest", "boost/test", "unity.h", "cmocka.h", "check.h", "criterion", "cgreen", "CUnit", "greatest.h", "munit.h", "minunit.h", "utest.h", "acutest.h", "QtTest"),
		libraries(`^\s*#\s*define\s+NAME`, "CATCH_CONFIG_MAIN", "DOCTEST_CONFIG_IMPLEMENT", "BOOST_TEST_MODULE")...),
	"rust": libraries(`^\s*(pub\s+)?use\s+NAME::`, "proptest", "quickcheck", "rstest", "trybuild", "insta", "mockall", "wiremock", "assert_cmd"),
}

// asserts says whether a file holds assertions, and whether it raises what
// makes a test fail. Only a module that nothing but tests imports is asked.
func asserts(s *source) (holds, raises bool) {
	for i := range s.tokens {
		w := s.word(i)
		switch {
		case w == "" || !isWordByte(w[0]):
		case w == "AssertionError" || w == "AssertionFailedError" || w == "AssertionFailedException" || w == "ExpectationFailedException":
			return true, true
		case s.lang == "python" && w == "assert",
			s.lang == "c" && (w == "assert" || w == "abort") && s.word(i+1) == "(",
			(w == "assert" || w == "expect" || strings.HasPrefix(w, "assert_") || strings.HasPrefix(w, "assertEqual")) && (s.word(i+1) == "(" || s.word(i+1) == "."):
			holds = true
		}
	}
	return holds, false
}
