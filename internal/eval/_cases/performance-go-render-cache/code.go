package charts

import (
	"net/http"
	"sync"
)

// Renderer draws a chart.
type Renderer interface {
	Render(query string) ([]byte, error)
}

// Cache serves charts, each rendered once.
type Cache struct {
	renderer Renderer

	mu     sync.Mutex
	charts map[string]*entry
}

type entry struct {
	once sync.Once
	png  []byte
	err  error
}

// NewCache is an empty cache.
func NewCache(r Renderer) *Cache {
	return &Cache{renderer: r, charts: map[string]*entry{}}
}

// ServeHTTP answers GET /chart.
func (c *Cache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := c.entry(r.URL.RawQuery)
	e.once.Do(func() { e.png, e.err = c.renderer.Render(r.URL.RawQuery) })
	if e.err != nil {
		http.Error(w, "the chart cannot be drawn", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	_, _ = w.Write(e.png)
}

func (c *Cache) entry(query string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.charts[query]
	if e == nil {
		e = &entry{}
		c.charts[query] = e
	}
	return e
}
