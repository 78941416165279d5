package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"
)

// nobody is the user of the image, by number: a cluster that wants no root asks for
// one.
const nobody = 65532

// Names of the image format (OCI image specification 1.1).
const (
	imageIndex    = "application/vnd.oci.image.index.v1+json"
	imageManifest = "application/vnd.oci.image.manifest.v1+json"
	imageConfig   = "application/vnd.oci.image.config.v1+json"
	imageLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob of an image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// entry is a file or a folder of an image.
type entry struct {
	name string // a folder ends with /
	mode int64
	user int
	data []byte
}

// image is the program as a container image, an OCI layout in one archive: nothing
// but the program and a user who is not root. It has no shell, no git and no agent,
// and so does no work by itself: it is what an image with those copies the program
// from, COPY --from=… /usr/bin/forge. No daemon and no registry is needed to make it.
func (r *release) image(t target, program string) ([]byte, error) {
	body, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	plain, err := r.tape([]entry{
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, []byte("root:x:0:\nforge:x:65532:\n")},
		{"etc/passwd", 0o644, 0, []byte("root:x:0:0:root:/:/nonexistent\nforge:x:65532:65532:forge:/home/forge:/nonexistent\n")},
		{"home/", 0o755, 0, nil},
		{"home/forge/", 0o700, nobody, nil},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/bin/forge", 0o755, 0, body},
		{"usr/share/", 0o755, 0, nil},
		{"usr/share/doc/", 0o755, 0, nil},
		{"usr/share/doc/forge/", 0o755, 0, nil},
		{"usr/share/doc/forge/LICENSE", 0o644, 0, license},
	})
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	zip, err := gzip.NewWriterLevel(&layer, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := zip.Write(plain); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}

	created := r.when.Format(time.RFC3339)
	labels := map[string]string{
		"org.opencontainers.image.title": "forge", "org.opencontainers.image.version": r.version, "org.opencontainers.image.created": created,
	}
	config, err := json.Marshal(map[string]any{
		"created": created, "architecture": t.arch, "os": t.os,
		"config": map[string]any{
			"User": "65532:65532", "Env": []string{"PATH=/usr/bin", "HOME=/home/forge"}, "Entrypoint": []string{"/usr/bin/forge"}, "WorkingDir": "/home/forge", "Labels": labels,
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digest(plain)}},
		"history": []map[string]any{{"created": created, "created_by": "forge release"}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": imageManifest, "annotations": labels,
		"config": described(imageConfig, config), "layers": []descriptor{described(imageLayer, layer.Bytes())},
	})
	if err != nil {
		return nil, err
	}
	top := described(imageManifest, manifest)
	top.Platform = map[string]string{"os": t.os, "architecture": t.arch}
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": imageIndex, "manifests": []descriptor{top}})
	if err != nil {
		return nil, err
	}

	all := []entry{{"blobs/", 0o755, 0, nil}, {"blobs/sha256/", 0o755, 0, nil}}
	for _, blob := range [][]byte{config, manifest, layer.Bytes()} {
		all = append(all, entry{"blobs/sha256/" + digest(blob)[len("sha256:"):], 0o644, 0, blob})
	}
	return r.tape(append(all, entry{"index.json", 0o644, 0, index}, entry{"oci-layout", 0o644, 0, []byte(`{"imageLayoutVersion":"1.0.0"}`)}))
}

// tape is entries as a tar, with the time of the commit.
func (r *release) tape(all []entry) ([]byte, error) {
	var out bytes.Buffer
	tape := tar.NewWriter(&out)
	for _, e := range all {
		head := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.data)), Mode: e.mode, Uid: e.user, Gid: e.user, ModTime: r.when, Format: tar.FormatUSTAR}
		if e.name[len(e.name)-1] == '/' {
			head.Typeflag = tar.TypeDir
		}
		if err := tape.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := tape.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := tape.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func described(kind string, data []byte) descriptor {
	return descriptor{MediaType: kind, Digest: digest(data), Size: int64(len(data))}
}
