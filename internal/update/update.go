// Package update asks where versions are given out which is the newest. It installs
// nothing, and sends nothing but the question.
package update

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"forge/internal/refusal"
	"forge/internal/text"
)

const (
	// patience is how long an answer is waited for.
	patience = 10 * time.Second
	// mostAnswer bounds an answer, in bytes.
	mostAnswer = 64 << 10
)

// News is what is given out, beside what is here.
type News struct {
	Here   string `json:"here"`
	Newest string `json:"newest"`
	Newer  bool   `json:"newer"` // than what is here
	URL    string `json:"url"`   // where it is
}

// Check asks at an address for latest.json, as make release writes it.
func Check(ctx context.Context, client *http.Client, address, here string) (News, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "https" && !(at.Scheme == "http" && (at.Hostname() == "127.0.0.1" || at.Hostname() == "localhost")) {
		return News{}, refusal.New("FORGE_UPDATE_URL=https://HOST/PATH, as install.sh was fetched from", "%q is no https address", text.OneLine(address, 200))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath("latest.json").String(), nil)
	if err != nil {
		return News{}, err
	}
	request.Header.Set("User-Agent", "forge")
	answer, err := client.Do(request)
	if err != nil {
		return News{}, refusal.New("try again later", "ask for the newest version: %v", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	var latest struct{ Version, URL string }
	if answer.StatusCode != http.StatusOK {
		return News{}, refusal.New("look at FORGE_UPDATE_URL", "ask for the newest version at %s: %s", request.URL, text.OneLine(answer.Status, 80))
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, mostAnswer)).Decode(&latest); err != nil {
		return News{}, refusal.New("look at FORGE_UPDATE_URL", "%s is no list of versions: %v", request.URL, err)
	}
	newer, ok := later(latest.Version, here)
	if !ok {
		return News{}, refusal.New("look at FORGE_UPDATE_URL", "%s names %q, which is no version", request.URL, text.OneLine(latest.Version, 40))
	}
	return News{Here: here, Newest: latest.Version, Newer: newer, URL: text.OneLine(latest.URL, 300)}, nil
}

var version = regexp.MustCompile(`^([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(-[0-9A-Za-z.-]{1,40})?$`)

// later says whether version a comes after b. One with a word behind, such as -dev,
// comes before the one without.
func later(a, b string) (is, ok bool) {
	x, y := version.FindStringSubmatch(a), version.FindStringSubmatch(b)
	if x == nil || y == nil {
		return false, false
	}
	for n := 1; n <= 3; n++ {
		i, _ := strconv.Atoi(x[n]) // digits by the expression
		j, _ := strconv.Atoi(y[n])
		if c := cmp.Compare(i, j); c != 0 {
			return c > 0, true
		}
	}
	if (x[4] == "") != (y[4] == "") {
		return x[4] == "", true
	}
	return x[4] > y[4], true
}

// Text says it to a person.
func (n News) Text() string {
	if !n.Newer {
		return fmt.Sprintf("forge %s is here, and nothing newer is given out.\n", n.Here)
	}
	return strings.TrimRight(fmt.Sprintf("forge %s is here; %s is given out: %s", n.Here, n.Newest, n.URL), " :") + "\nNothing was installed. What changed is in CHANGELOG.md of its archive.\n"
}
