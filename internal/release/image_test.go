package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// opened are the files and folders of a tar by their names.
func opened(t *testing.T, data []byte) map[string]*taped {
	t.Helper()
	all := map[string]*taped{}
	for tape := tar.NewReader(bytes.NewReader(data)); ; {
		head, err := tape.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(tape)
		if err != nil {
			t.Fatal(err)
		}
		if all[head.Name] != nil {
			t.Errorf("%s is there twice", head.Name)
		}
		if dir := path.Dir(strings.TrimSuffix(head.Name, "/")) + "/"; dir != "./" && all[dir] == nil {
			t.Errorf("%s comes before its folder", head.Name)
		}
		all[head.Name] = &taped{head, body}
	}
}

type taped struct {
	*tar.Header
	body []byte
}

// layerOf holds an image to the format, and returns what its one layer holds.
func layerOf(t *testing.T, image []byte, version, arch string) map[string]*taped {
	t.Helper()
	files := opened(t, image)
	read := func(name string, into any) {
		t.Helper()
		if files[name] == nil {
			t.Fatalf("%s is not there", name)
		}
		if err := json.Unmarshal(files[name].body, into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	used := 0
	blob := func(d descriptor, kind string) []byte {
		t.Helper()
		used++
		file := files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		if file == nil || d.MediaType != kind || digest(file.body) != d.Digest || d.Size != int64(len(file.body)) {
			t.Fatalf("%+v names no blob of kind %s", d, kind)
		}
		return file.body
	}
	var layout struct{ ImageLayoutVersion string }
	if read("oci-layout", &layout); layout.ImageLayoutVersion != "1.0.0" {
		t.Errorf("layout %+v", layout)
	}
	var index struct {
		SchemaVersion int
		Manifests     []descriptor
	}
	if read("index.json", &index); index.SchemaVersion != 2 || len(index.Manifests) != 1 {
		t.Fatalf("%+v", index)
	}
	if p := index.Manifests[0].Platform; p["os"] != "linux" || p["architecture"] != arch {
		t.Errorf("platform %v", p)
	}
	var manifest struct {
		SchemaVersion int
		Config        descriptor
		Layers        []descriptor
	}
	if err := json.Unmarshal(blob(index.Manifests[0], imageManifest), &manifest); err != nil || manifest.SchemaVersion != 2 || len(manifest.Layers) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	var config struct {
		Architecture, OS string
		Config           struct {
			User       string
			Entrypoint []string
			Labels     map[string]string
		}
		RootFS struct {
			Type    string
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(blob(manifest.Config, imageConfig), &config); err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != arch || config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.version"] != version {
		t.Errorf("%+v", config)
	}
	zip, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0], imageLayer)))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	if len(config.RootFS.DiffIDs) != 1 || digest(plain) != config.RootFS.DiffIDs[0] {
		t.Errorf("the layer is not the one of the configuration: %v", config.RootFS)
	}
	if want := used + 4; len(files) != want {
		t.Errorf("%d files and folders, want %d", len(files), want)
	}
	layer := opened(t, plain)
	if len(config.Config.Entrypoint) != 1 || layer[strings.TrimPrefix(config.Config.Entrypoint[0], "/")] == nil {
		t.Errorf("it begins with %v, which is not there", config.Config.Entrypoint)
	}
	return layer
}

// The image holds the program, a user who is not root, and no shell; the same
// program gives the same bytes.
func TestImage(t *testing.T) {
	program := filepath.Join(t.TempDir(), "forge")
	write(t, program, "a program")
	t.Chdir("../..")
	r := release{version: "9.8.7", when: time.Unix(1_000_000_000, 0)}
	image, err := r.image(target{"linux", "arm64"}, program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(program, time.Time{}, time.Unix(5, 0)); err != nil {
		t.Fatal(err)
	}
	again, err := r.image(target{"linux", "arm64"}, program)
	if err != nil || !bytes.Equal(image, again) {
		t.Errorf("two images of one program differ: %v", err)
	}
	layer := layerOf(t, image, "9.8.7", "arm64")
	if f := layer["usr/bin/forge"]; string(f.body) != "a program" || f.Mode != 0o755 || f.Uid != 0 {
		t.Errorf("the program: %+v", f.Header)
	}
	for name, f := range layer {
		base := path.Base(name)
		if f.Mode&0o111 != 0 && f.Typeflag == tar.TypeReg && base != "forge" || f.Typeflag != tar.TypeReg && f.Typeflag != tar.TypeDir {
			t.Errorf("%s is in it: %+v", name, f.Header)
		}
		if f.Mode&0o6000 != 0 || f.Mode&0o002 != 0 && name != "tmp/" || !f.ModTime.Equal(r.when) || f.Uname+f.Gname != "" {
			t.Errorf("%s: %+v", name, f.Header)
		}
	}
}
