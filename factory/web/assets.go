package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files that pages load, each at an address that changes with
// its content, so that browsers keep it for good.
type assets map[string]asset // by name

type asset struct {
	url, kind string
	data      []byte
}

var assetKinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

func loadAssets() (assets, error) {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		return nil, fmt.Errorf("read the assets: %w", err)
	}
	out := assets{}
	for _, e := range entries {
		data, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read the assets: %w", err)
		}
		sum := sha256.Sum256(data)
		out[e.Name()] = asset{url: "/static/" + hex.EncodeToString(sum[:8]) + "/" + e.Name(), kind: assetKinds[path.Ext(e.Name())], data: data}
	}
	return out, nil
}

// url is the address of the asset of that name.
func (a assets) url(name string) (string, error) {
	f, ok := a[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return f.url, nil
}

func (s *Server) assetRoutes() {
	s.HandleOpen("GET /static/{sum}/{name}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := s.assets[r.PathValue("name")]
		if !ok || f.url != r.URL.Path {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(f.data)
	}))
	s.HandleOpen("GET /favicon.ico", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.assets["forge.svg"].url, http.StatusFound)
	}))
}
