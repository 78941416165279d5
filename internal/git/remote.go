package git

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Remote is a repository on a code host, reached over HTTP.
type Remote struct {
	URL string // without a user or password
	// Authorization is the value of that header, "" = none. It reaches git in
	// its environment: neither the command line nor an address shows it.
	Authorization string
}

// environ are the variables for one git that talks to the remote: the header
// goes to this host alone, and not to where an answer sends git.
func (r Remote) environ() ([]string, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, errors.New("the address of the remote is not one of HTTP without a user")
	}
	settings := append([][2]string(nil), forced...)
	settings = append(settings,
		[2]string{"http.followRedirects", "false"},
		[2]string{"credential.helper", ""},
		[2]string{"protocol.allow", "never"},
		[2]string{"protocol.http.allow", "always"},
		[2]string{"protocol.https.allow", "always"},
	)
	if r.Authorization != "" {
		if strings.ContainsAny(r.Authorization, "\r\n\x00") {
			return nil, errors.New("the token holds a line break")
		}
		settings = append(settings, [2]string{"http." + u.Scheme + "://" + u.Host + "/.extraHeader", "Authorization: " + r.Authorization})
	}
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, kv := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return env, nil
}

func (s *Store) atRemote(ctx context.Context, r Remote, args ...string) (result, error) {
	env, err := r.environ()
	if err != nil {
		return result{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pushTimeout, fmt.Errorf("no answer in %v", pushTimeout))
	defer cancel()
	return s.own.run(ctx, call{args: args, env: append(append([]string(nil), s.push...), env...)})
}

// RemoteHead is the commit of a branch of the remote, "" when there is none.
func (s *Store) RemoteHead(ctx context.Context, r Remote, branch string) (string, error) {
	heads, err := s.RemoteHeads(ctx, r, branch)
	return heads[branch], err
}

// RemoteHeads are the commits of branches of the remote, by their names; one
// that is not there has none.
func (s *Store) RemoteHeads(ctx context.Context, r Remote, branches ...string) (map[string]string, error) {
	args, branchOf := []string{"ls-remote", "--quiet", "--refs", "--", r.URL}, map[string]string{}
	for _, branch := range branches {
		ref := "refs/heads/" + branch
		if err := checkRef(ref); err != nil {
			return nil, fmt.Errorf("read remote branch: %w", err)
		}
		args, branchOf[ref] = append(args, ref), branch
	}
	res, err := s.atRemote(ctx, r, args...)
	if err != nil {
		return nil, fmt.Errorf("read remote branch %s: %w", strings.Join(branches, " and "), err)
	}
	heads := map[string]string{}
	for _, line := range splitLines(res.out) {
		// The pattern also matches the ends of longer names.
		id, name, ok := strings.Cut(line, "\t")
		if branch, asked := branchOf[name]; ok && asked && isID(id) {
			heads[branch] = id
		}
	}
	return heads, nil
}

// PushCommit makes branch of the remote point at commit when it points at old
// now; old "" means that it must not exist. What is there is never thrown
// away: commit must grow out of old. Doing it twice is doing it once. Errors:
// *MovedError when the branch is somewhere else.
func (s *Store) PushCommit(ctx context.Context, r Remote, branch, commit, old string) error {
	ref := "refs/heads/" + branch
	if err := errors.Join(checkRef(ref), checkIDs(commit)); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	if old != "" {
		if err := checkIDs(old); err != nil {
			return fmt.Errorf("push: %w", err)
		}
		// A push with a lease would replace any history.
		// What somebody else pushed is not here yet.
		holds, err := s.Exists(ctx, old)
		if err == nil && holds {
			holds, err = s.Holds(ctx, commit, old)
		}
		if err != nil {
			return fmt.Errorf("push %s: %w", branch, err)
		}
		if !holds {
			return fmt.Errorf("push %s: %w", branch, &MovedError{Ref: ref, Want: old})
		}
	}
	_, err := s.atRemote(ctx, r, "push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no",
		"--force-with-lease="+ref+":"+old, "--", r.URL, commit+":"+ref)
	if err == nil {
		return nil
	}
	// Another push, or this one before its answer was lost.
	at, rerr := s.RemoteHead(ctx, r, branch)
	switch {
	case rerr != nil:
	case at == commit:
		return nil
	case at != old:
		return fmt.Errorf("push %s: %w", branch, &MovedError{Ref: ref, Want: old})
	}
	return fmt.Errorf("push %s: %w", branch, err)
}

// FetchBranch brings a branch of the remote into Forge's own repository, with
// ref (refs/forge/…) pointing at it, and returns its commit; "" when the remote
// has no such branch, and then ref stays as it is.
func (s *Store) FetchBranch(ctx context.Context, r Remote, branch, ref string) (string, error) {
	if err := checkRef(ref); err != nil {
		return "", fmt.Errorf("fetch %s: %w", branch, err)
	}
	at, err := s.RemoteHead(ctx, r, branch)
	if err != nil || at == "" {
		return "", err
	}
	if s.reached(ctx, at) {
		if err := s.UpdateRef(ctx, ref, at, ""); err != nil {
			return "", fmt.Errorf("fetch %s: %w", branch, err)
		}
		return at, nil
	}
	_, err = s.atRemote(ctx, r, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--no-auto-maintenance", "--", r.URL, "+refs/heads/"+branch+":"+ref)
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", branch, err)
	}
	return s.ReadRef(ctx, ref)
}

// reached says that a commit is here with all that it is made of: what Forge has
// pushed, or fetched before. It is how git itself finds out; an object that a
// fetch left behind when it was cut off is not enough.
func (s *Store) reached(ctx context.Context, commit string) bool {
	_, err := s.own.run(ctx, call{args: []string{"rev-list", "--objects", "--quiet", commit, "--not", "--all", "--alternate-refs"}})
	return err == nil
}

// Related says whether two commits of Forge's own repository grew out of a
// common one.
func (s *Store) Related(ctx context.Context, one, other string) (bool, error) {
	if err := checkIDs(one, other); err != nil {
		return false, fmt.Errorf("compare histories: %w", err)
	}
	res, err := s.own.run(ctx, call{args: []string{"merge-base", one, other}, ok: []int{1}})
	if err != nil {
		return false, fmt.Errorf("compare histories: %w", err)
	}
	return res.code == 0, nil
}
