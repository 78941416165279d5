package gitea_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// pages answers with the pages of n pull requests, the last touched first, of
// which a server gives two at once whatever it is asked for.
func pages(t *testing.T, n int, at time.Time, asked *[]string) *gitea.Host {
	t.Helper()
	address := hosttest.Listen(t, func(w http.ResponseWriter, req *http.Request) {
		*asked = append(*asked, req.URL.Query().Get("page"))
		if req.Header.Get("Authorization") != "token of-the-tests" || req.URL.Query().Get("sort") != "recentupdate" {
			t.Errorf("asked for %s", req.URL)
		}
		page, _ := strconv.Atoi(req.URL.Query().Get("page"))
		all := []map[string]any{}
		for i := (page - 1) * 2; i < min(page*2, n); i++ {
			all = append(all, map[string]any{"number": n - i, "state": "open", "updated_at": at.Add(-time.Duration(i) * time.Minute).Format(time.RFC3339)})
		}
		w.Header().Set("X-Total-Count", fmt.Sprint(n))
		w.Header().Set("Date", at.Format(http.TimeFormat))
		if err := json.NewEncoder(w).Encode(all); err != nil {
			t.Error(err)
		}
	})
	h, err := gitea.New(gitea.Config{URL: address, Owner: "o", Repo: "r", Token: "of-the-tests"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The list is read as far as something happened, and no further.
func TestGiteaChangedPages(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		since time.Duration
		want  []int64
		pages []string
	}{
		{10 * time.Second, []int64{5}, []string{"1"}},
		{90 * time.Second, []int64{5, 4}, []string{"1", "2"}},
		{2 * time.Minute, []int64{5, 4, 3}, []string{"1", "2"}},
		{2*time.Minute - time.Second, []int64{5, 4, 3}, []string{"1", "2"}}, // whole seconds
		{time.Hour, []int64{5, 4, 3, 2, 1}, []string{"1", "2", "3"}},
	} {
		var asked []string
		got, err := pages(t, 5, now, &asked).Changed(t.Context(), now.Add(-tt.since).Format(time.RFC3339))
		if err != nil || !slices.Equal(got.Numbers, tt.want) || !slices.Equal(asked, tt.pages) || got.Cursor != now.Format(time.RFC3339) {
			t.Errorf("since %v: %+v %v by pages %v, want %v by %v", tt.since, got, err, asked, tt.want, tt.pages)
		}
	}
	var asked []string
	if got, err := pages(t, 5, now, &asked).Changed(t.Context(), ""); err != nil || len(got.Numbers) > 0 || len(asked) != 1 || got.Cursor == "" {
		t.Errorf("at the beginning: %+v %v by pages %v", got, err, asked)
	}
	asked = nil
	if got, err := pages(t, 0, now, &asked).Changed(t.Context(), now.Format(time.RFC3339)); err != nil || len(got.Numbers) > 0 || len(asked) != 1 {
		t.Errorf("an empty list: %+v %v by pages %v", got, err, asked)
	}
}

// What is no list of a Gitea is no list without news.
func TestGiteaChangedUnread(t *testing.T) {
	for body, want := range map[string]work.HostKind{`<html>`: work.HostWrong, `{}`: work.HostWrong, ``: work.HostWrong} {
		address := hosttest.Listen(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(body)) // the other side sees
		})
		h, err := gitea.New(gitea.Config{URL: address, Owner: "o", Repo: "r", Token: "of-the-tests"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.Changed(t.Context(), "2026-01-02T03:04:05Z"); work.HostKindOf(err) != want {
			t.Errorf("%q: %+v %v, want %s", body, got, err, want)
		}
	}
}
