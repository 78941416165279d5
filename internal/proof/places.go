package proof

import (
	"bytes"
	"path"
	"strings"
)

// Folders by name, where nothing that the trusted state says is to be had.
var (
	goldenFolders = set("golden goldens fixture fixtures cassettes baselines testutil testutils testsupport test_support test-support testlib testhelpers test_helpers test-helpers testkit bench benches benchmark benchmarks fuzz")
	// vagueFolders may as well hold product, which the imports tell.
	vagueFolders = set("spec specs testing fixtures fixture bench benchmark benchmarks fuzz golden goldens baselines testcases testkit testutil testutils")
	toolFolders  = set("ci script scripts tools tool hack build buildsrc devtools dev etc contrib tasks make cmake support misc")
	assetFolders = set("public static assets asset resources locales locale i18n l10n translations templates template views www media images img icons fonts styles css themes content migrations lang messages")
	// sourceRoots are where the ecosystems keep what they ship.
	sourceRoots = set("src lib app bin cmd pkg include internal libexec source sources packages apps crates")
	// foreign folders hold other people's code, which product and tests load.
	foreignFolders = set("node_modules vendor site-packages dist-packages bower_components __pycache__ jspm_packages pods carthage third_party third-party thirdparty _vendor pypackages __pypackages__ web_modules")
)

// testPlace finds the folder of tests, fixtures or expected results that a
// file stands below.
func testPlace(file string) (string, bool) {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		name := strings.ToLower(path.Base(dir))
		if testFolders[name] || goldenFolders[name] {
			return dir, true
		}
	}
	return "", false
}

// toolPlace finds the folder of scripts that a file stands below, where no
// source root comes before.
func toolPlace(file string) (string, bool) {
	dir := ""
	parts := strings.Split(path.Dir(file), "/")
	for i, part := range parts {
		lower := strings.ToLower(part)
		if sourceRoots[lower] {
			return "", false
		}
		if toolFolders[lower] {
			dir = strings.Join(parts[:i+1], "/")
			break
		}
	}
	return dir, dir != ""
}

// loadable knows what interpreters and package managers load by its place
// alone.
func loadable(file string) (string, bool) {
	if isVendorList(file) {
		return "", false // it is read by its parts
	}
	for _, part := range strings.Split(file, "/") {
		lower := strings.ToLower(part)
		switch {
		case foreignFolders[lower]:
			return part, true
		case strings.HasSuffix(lower, ".dist-info"), strings.HasSuffix(lower, ".egg-info"), strings.HasSuffix(lower, ".egg"):
			return part, true
		}
	}
	switch strings.ToLower(path.Ext(file)) {
	case ".pyc", ".pyo", ".pyd", ".pth", ".so", ".dylib", ".dll", ".node", ".class", ".jar", ".war", ".a", ".o", ".lib", ".exe", ".wasm", ".whl", ".gem", ".egg", ".phar", ".beam", ".rlib", ".pcm", ".gch", ".pch":
		return path.Base(file), true
	}
	return "", false
}

// isShell is true for a script that a shell reads, by its ending or first line,
// or that an interpreter reads which is not known here.
func isShell(file string, content []byte) bool {
	switch strings.ToLower(path.Ext(file)) {
	case ".sh", ".bash", ".zsh", ".ps1", ".psm1":
		return true
	case "":
		lang := languageOf(file, content)
		return bytes.HasPrefix(content, []byte("#!")) && (lang == "shell" || lang == "")
	}
	return false
}

// sourcePlace is true below a source root or beside product.
func (m *Map) sourcePlace(file string) bool {
	if m.SourceFolders[path.Dir(file)] {
		return true
	}
	for _, part := range strings.Split(path.Dir(file), "/") {
		if sourceRoots[strings.ToLower(part)] {
			return true
		}
	}
	return false
}

// assetFolder finds the folder that makes data product: one that holds product
// source, or one that is made for assets.
func (m *Map) assetFolder(file string) (string, bool) {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if m.SourceFolders[dir] || assetFolders[strings.ToLower(path.Base(dir))] {
			return dir, true
		}
	}
	return "", false
}

// namedByProduct finds the product source that names a file, or a folder that
// it stands below.
func (m *Map) namedByProduct(file string) (string, bool) {
	for at := file; at != "."; at = path.Dir(at) {
		if by, ok := m.ProductNames[at]; ok {
			return by, true
		}
	}
	return "", false
}

// appSetting tells an app.config.ts among the source from a tool's settings.
func (m *Map) appSetting(file string) bool {
	base := path.Base(file)
	lower := strings.ToLower(base)
	if toolNames[base] || toolNames[lower] {
		// A package may well have a module of its own called tasks or settings.
		switch lower {
		case "tasks.py", "build", "workspace", "configure", "project.json", "settings.xml", "default.nix":
			return path.Dir(file) != "." && m.SourceFolders[path.Dir(file)]
		}
		return false
	}
	return false
}
