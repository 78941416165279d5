package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"forge/internal/atomicfile"
	"forge/internal/journal"
	"forge/internal/text"
	"forge/internal/work"
)

// Record is a plan that an agent drafts for a text, in the state folder: what it
// was paid for outlives the page that asked for it, and the server.
type Record struct {
	ID      string     `json:"id"`
	Text    string     `json:"text"`
	Tries   int        `json:"tries,omitempty"` // of each phase; 0 = as drafted
	By      string     `json:"by"`
	Began   time.Time  `json:"began"`
	Ended   time.Time  `json:"ended,omitzero"`
	State   State      `json:"state"`
	Problem string     `json:"problem,omitempty"` // why there is no plan
	Fix     string     `json:"fix,omitempty"`
	Plan    *work.Plan `json:"plan,omitempty"`
	// Owner is the process in which it is drafted.
	Owner journal.Owner `json:"owner,omitzero"`
}

// State is what has become of a draft.
type State string

// The states of a draft.
const (
	UnderWay    State = "drafting"
	Ready       State = "ready"       // a run can be begun with it
	Failed      State = "failed"      // Problem says why
	Interrupted State = "interrupted" // the process ended meanwhile
	Asks        State = "asks"        // of an interview: a question is open
)

// RecordPrefix begins the ids of drafts.
const RecordPrefix = "d-"

// mostDrafting is how long a draft may be under way where nobody can tell whether
// its process lives.
const mostDrafting = 24 * time.Hour

// ErrNone says that there is no such draft, or none any more.
var ErrNone = errors.New("no such draft of a plan")

// recordFile is where a draft is; an id that is none has no file.
func recordFile(state, id string) (string, error) {
	if !regexp.MustCompile(`^` + RecordPrefix + `[a-z0-9-]{1,60}$`).MatchString(id) {
		return "", ErrNone
	}
	return filepath.Join(state, "drafts", id+".json"), nil
}

// KeepRecord writes a draft down.
func KeepRecord(state string, d Record) error {
	path, err := recordFile(state, d.ID)
	if err != nil {
		return err
	}
	body, err := json.MarshalIndent(d, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(path, append(body, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the draft of a plan: %w", err)
	}
	return nil
}

// ReadRecord is a draft with what has become of it, or ErrNone. One whose file cannot
// be read has failed.
func ReadRecord(state, id string, now time.Time) (d Record, err error) {
	path, err := recordFile(state, id)
	if err != nil {
		return d, err
	}
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, ErrNone
	}
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	if err != nil {
		return broken(path, id, err), nil
	}
	if d.ID = id; d.State == UnderWay && d.abandoned(now) {
		// It may have ended since the record was read.
		if again, err := os.ReadFile(path); err == nil && string(again) != string(body) {
			return ReadRecord(state, id, now)
		}
		d.State = Interrupted
	}
	return d, nil
}

// broken is a draft of which no more than its file is known.
func broken(path, id string, err error) Record {
	d := Record{ID: id, Text: "a draft", State: Failed, Problem: "its file cannot be read: " + text.OneLine(err.Error(), 200)}
	if info, err := os.Lstat(path); err == nil {
		d.Began, d.Ended = info.ModTime(), info.ModTime()
	}
	return d
}

// abandoned says that nobody drafts it any more. Records of before have no owner.
func (d Record) abandoned(now time.Time) bool {
	return d.Owner == journal.Owner{} || d.Owner.Dead() || now.Sub(d.Began) > mostDrafting
}

// Records are the drafts that no run was begun with, the newest first.
func Records(state string, now time.Time) ([]Record, error) {
	entries, err := os.ReadDir(filepath.Join(state, "drafts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for drafts of plans: %w", err)
	}
	var out []Record
	for _, e := range entries {
		id, isRecord := strings.CutSuffix(e.Name(), ".json")
		if !isRecord || !strings.HasPrefix(id, RecordPrefix) {
			continue
		}
		if d, err := ReadRecord(state, id, now); err == nil { // one that is gone is no draft
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Record) int { return b.Began.Compare(a.Began) })
	return out, nil
}

// DropRecord forgets a draft, or is ErrNone.
func DropRecord(state, id string) error {
	path, err := recordFile(state, id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	} else if err != nil {
		return fmt.Errorf("drop the draft of a plan: %w", err)
	}
	return nil
}
