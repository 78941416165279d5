package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/work"
)

// Record is everything that a journal holds of one run, as it travels to
// another machine. Attempts are not in it: they are processes of one machine.
// A key is not either.
type Record struct {
	Run     string
	Created time.Time
	Status
	Project string // see RunRow
	Issue   int64
	// Events are as they are stored: in the version in which they were written,
	// their data byte for byte.
	Events      []work.Event
	Checkpoints []work.Checkpoint // in the order of their opening
	Inbox       []work.Answer     // answers that are not yet events, the oldest first
	Usage       []UsageRow
	Talk        []work.TalkLine   // what was said to the companion about the run
	Blobs       map[string][]byte // those that events and checkpoints name, by their sha256
	// Refs are the commits that the run is made of, by the references of Forge's
	// own repository that keep them. The journal does not look at them.
	Refs map[string]string
	// Holder works on the run; the zero value = it rests, and may be taken.
	Holder Holder
}

// Holder is a machine that works on a run which other machines know of.
type Holder struct {
	Claim string    `json:"claim,omitempty"` // random: tells this claim from every other
	Host  string    `json:"host,omitempty"`  // for people
	Since time.Time `json:"since,omitzero"`
}

// recordVersion is the version of a record's files.
const recordVersion = 1

// DamagedError says what is wrong with a record that came from elsewhere.
// errors.Is(err, ErrBroken) holds: it is as good as a broken journal.
type DamagedError struct {
	Run  string
	Seq  int64 // 0 when no single event is meant
	What string
}

func (e *DamagedError) Error() string {
	where := "the record of run " + e.Run
	if e.Seq != 0 {
		where += fmt.Sprintf(", event %d", e.Seq)
	}
	return where + ": " + e.What + "; nothing of it was taken over"
}

// Is makes every DamagedError an ErrBroken.
func (e *DamagedError) Is(target error) bool { return target == ErrBroken }

// manifest is record.json: what holds the other files together.
type manifest struct {
	V       int               `json:"v"`
	Run     string            `json:"run"`
	Created time.Time         `json:"created"`
	Outcome work.RunOutcome   `json:"outcome,omitempty"`
	Branch  string            `json:"branch,omitempty"`
	CostUSD *float64          `json:"cost_usd"`
	Project string            `json:"project,omitempty"`
	Issue   int64             `json:"issue,omitempty"`
	Count   int64             `json:"count"` // of the events
	Head    string            `json:"head"`  // of their chain
	Blobs   []string          `json:"blobs"`
	Refs    map[string]string `json:"refs"`
	Holder  Holder            `json:"holder,omitzero"`
}

// eventLine stands before the data of each event.
type eventLine struct {
	V         int            `json:"v"`
	Seq       int64          `json:"seq"`
	Time      time.Time      `json:"time"`
	Kind      work.EventKind `json:"kind"`
	Phase     string         `json:"phase,omitempty"`
	Iteration int            `json:"iteration,omitempty"`
	Attempt   int            `json:"attempt,omitempty"`
	Hash      string         `json:"hash"`
	Bytes     int            `json:"bytes"`
}

// Names of a record's files.
const (
	fileManifest    = "record.json"
	fileEvents      = "events"
	fileCheckpoints = "checkpoints.json"
	fileInbox       = "inbox.json"
	fileUsage       = "usage.json"
	fileTalk        = "talk.json" // only where something was said
	folderBlobs     = "blobs/"
)

// Head is the chain hash of the record's last event.
func (r *Record) Head() Hash { return r.hashAt(int64(len(r.Events))) }

func (r *Record) hashAt(count int64) Hash {
	h, buf := Root(r.Run), []byte(nil)
	for _, e := range r.Events[:count] {
		h, buf = link(buf, h, e)
	}
	return h
}

// Files are the record as files; ParseRecord reads them.
func (r *Record) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	m := manifest{
		V: recordVersion, Run: r.Run, Created: r.Created, Outcome: r.Outcome, Branch: r.Branch, CostUSD: r.CostUSD, Project: r.Project, Issue: r.Issue,
		Count: int64(len(r.Events)), Head: r.Head().String(), Blobs: []string{}, Refs: r.Refs, Holder: r.Holder,
	}
	for sha, data := range r.Blobs {
		m.Blobs = append(m.Blobs, sha)
		files[folderBlobs+sha] = data
	}
	slices.Sort(m.Blobs)
	var text []byte
	hash, buf := Root(r.Run), []byte(nil)
	for _, e := range r.Events {
		hash, buf = link(buf, hash, e)
		line, err := json.Marshal(eventLine{
			V: e.V, Seq: e.Seq, Time: e.Time, Kind: e.Kind, Phase: e.Phase, Iteration: e.Iteration, Attempt: e.Attempt, Hash: hash.String(), Bytes: len(e.Data),
		})
		if err != nil {
			return nil, fmt.Errorf("write event %d of run %s: %w", e.Seq, r.Run, err)
		}
		text = append(append(append(append(text, line...), '\n'), e.Data...), '\n')
	}
	files[fileEvents] = text
	parts := map[string]any{fileManifest: m, fileCheckpoints: orEmpty(r.Checkpoints), fileInbox: orEmpty(r.Inbox), fileUsage: usageLines(r.Usage)}
	if len(r.Talk) > 0 {
		parts[fileTalk] = r.Talk
	}
	for name, v := range parts {
		data, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			return nil, fmt.Errorf("write %s of run %s: %w", name, r.Run, err)
		}
		files[name] = append(data, '\n')
	}
	return files, nil
}

// usageLine is a UsageRow in a record.
type usageLine struct {
	Command work.CommandID `json:"command"`
	Day     string         `json:"day"` // UTC, 2006-01-02
	USD     *float64       `json:"usd"`
	Tokens  *int64         `json:"tokens"`
}

func usageLines(rows []UsageRow) []usageLine {
	list := make([]usageLine, 0, len(rows))
	for _, r := range rows {
		list = append(list, usageLine{Command: r.Command, Day: dayOf(r.Time), USD: r.USD, Tokens: r.Tokens})
	}
	return list
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// ParseRecord reads the record of run from its files and checks everything
// that can be checked by itself: version, chain, content hashes, ids. It trusts
// nothing of it. Errors: *DamagedError; ErrNewer when a newer Forge wrote it.
func ParseRecord(run string, files map[string][]byte) (*Record, error) {
	p := parser{run: run, files: files}
	m, err := p.manifest()
	if err != nil {
		return nil, err
	}
	r := &Record{
		Run: run, Created: m.Created.UTC(), Status: Status{Outcome: m.Outcome, Branch: m.Branch, CostUSD: m.CostUSD}, Project: m.Project, Issue: m.Issue,
		Blobs: map[string][]byte{}, Refs: m.Refs, Holder: m.Holder,
	}
	if r.Events, err = p.events(); err != nil {
		return nil, err
	}
	if int64(len(r.Events)) != m.Count || r.Head().String() != m.Head {
		return nil, p.damaged("it has %d events, and %d were written: its end was cut off or changed", len(r.Events), m.Count)
	}
	known := map[string]bool{fileManifest: true, fileEvents: true, fileCheckpoints: true, fileInbox: true, fileUsage: true, fileTalk: true}
	for _, sha := range m.Blobs {
		data, ok := files[folderBlobs+sha]
		if sum := sha256.Sum256(data); !ok || hex.EncodeToString(sum[:]) != sha {
			return nil, p.damaged("the blob %.64q is missing, or is not what its name says", sha)
		}
		known[folderBlobs+sha], r.Blobs[sha] = true, data
	}
	for name := range files {
		if !known[name] {
			return nil, p.damaged("it has a file %.100q that belongs to no record", name)
		}
	}
	var usage []usageLine
	parts := map[string]any{fileCheckpoints: &r.Checkpoints, fileInbox: &r.Inbox, fileUsage: &usage}
	if _, said := files[fileTalk]; said {
		parts[fileTalk] = &r.Talk
	}
	for name, into := range parts {
		if err := p.json(name, into); err != nil {
			return nil, err
		}
	}
	for _, l := range usage {
		day, err := time.Parse(time.DateOnly, l.Day)
		if err != nil {
			return nil, p.damaged("%.40q is no day of a cost", l.Day)
		}
		r.Usage = append(r.Usage, UsageRow{Run: run, Command: l.Command, Time: day, USD: l.USD, Tokens: l.Tokens})
	}
	if err := r.check(); err != nil {
		return nil, p.damaged("%v", err)
	}
	return r, nil
}

// parser reads the files of one record.
type parser struct {
	run   string
	files map[string][]byte
}

func (p parser) damaged(format string, args ...any) error {
	return &DamagedError{Run: p.run, What: fmt.Sprintf(format, args...)}
}

func (p parser) json(name string, into any) error {
	data, ok := p.files[name]
	if !ok {
		return p.damaged("%s is missing", name)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return p.damaged("%s cannot be read: %v", name, err)
	}
	return nil
}

func (p parser) manifest() (m manifest, err error) {
	if err := p.json(fileManifest, &m); err != nil {
		return m, err
	}
	switch {
	case m.V > recordVersion:
		return m, fmt.Errorf("the record of run %s: %w: it has version %d, this program knows %d; use a newer Forge", p.run, ErrNewer, m.V, recordVersion)
	case m.V != recordVersion:
		return m, p.damaged("it has version %d, and there is none", m.V)
	case m.Run != p.run:
		return m, p.damaged("it is of another run (%.40q)", m.Run)
	case m.Count < 1 || m.Count >= 1<<seqBits:
		return m, p.damaged("it says that it has %d events", m.Count)
	case !storable(m.Created):
		return m, p.damaged("it does not say when the run was made")
	}
	return m, nil
}

// events reads the events and holds each against the chain.
func (p parser) events() ([]work.Event, error) {
	text, ok := p.files[fileEvents]
	if !ok {
		return nil, p.damaged("%s is missing", fileEvents)
	}
	var all []work.Event
	hash, buf := Root(p.run), []byte(nil)
	for len(text) > 0 {
		seq := int64(len(all)) + 1
		bad := func(what string) error { return &DamagedError{Run: p.run, Seq: seq, What: what} }
		var l eventLine
		line, _, ok := bytes.Cut(text[:min(len(text), 4<<10)], []byte("\n"))
		if !ok || json.Unmarshal(line, &l) != nil {
			return nil, bad("it cannot be read")
		}
		text = text[len(line)+1:]
		if l.Bytes < 0 || l.Bytes > work.MaxEventBytes || l.Bytes+1 > len(text) || text[l.Bytes] != '\n' {
			return nil, bad("its data is cut")
		}
		data := slices.Clone(text[:l.Bytes])
		text = text[l.Bytes+1:]
		e := work.Event{
			V: l.V, Seq: l.Seq, Time: l.Time.UTC(), Run: p.run, Kind: l.Kind, Phase: l.Phase, Iteration: l.Iteration, Attempt: l.Attempt, Data: data,
		}
		if e.Seq != seq {
			return nil, bad(fmt.Sprintf("it is missing; the next one is %d", e.Seq))
		}
		if !storable(e.Time) || e.Kind == "" || e.V < 1 || !json.Valid(data) {
			return nil, bad("it is no event")
		}
		if hash, buf = link(buf, hash, e); hash.String() != l.Hash {
			return nil, bad("it or one before it was changed: the hash does not match")
		}
		all = append(all, e)
	}
	return all, nil
}

// check looks at what the chain does not cover.
func (r *Record) check() error {
	for ref, id := range r.Refs {
		if ref == "" || len(id) != 40 {
			return fmt.Errorf("%.100q is no reference to a commit", ref)
		}
	}
	if h := r.Holder; h != (Holder{}) && (h.Claim == "" || !storable(h.Since)) {
		return errors.New("it does not say who works on the run")
	}
	seen := map[string]work.Checkpoint{}
	for _, c := range r.Checkpoints {
		_, twice := seen[c.ID]
		switch {
		case c.Run != r.Run || !strings.HasPrefix(c.ID, r.Run+".") || strings.Trim(c.ID[len(r.Run)+1:], "0123456789") != "" || len(c.ID) == len(r.Run)+1:
			return fmt.Errorf("checkpoint %.60q is of another run", c.ID)
		case twice:
			return fmt.Errorf("checkpoint %s is in it twice", c.ID)
		case c.Revision < 1 || !storable(c.OpenedAt):
			return fmt.Errorf("checkpoint %s has no revision or no time", c.ID)
		}
		switch c.Status {
		case work.CheckpointPending, work.CheckpointApproved, work.CheckpointChangesRequested, work.CheckpointRejected, work.CheckpointExpired:
		default:
			return fmt.Errorf("checkpoint %s is %.20q, which is no status", c.ID, c.Status)
		}
		seen[c.ID] = c
	}
	for _, a := range r.Inbox {
		c, ok := seen[a.Checkpoint]
		switch {
		case !storable(a.At):
			return errors.New("an answer has no time")
		case a.Checkpoint == "" && len(a.Policy) > 0:
		case !ok || c.Status != a.Status || c.Revision != a.Revision:
			return fmt.Errorf("an answer to checkpoint %.60q is not the one that the checkpoint has", a.Checkpoint)
		}
	}
	for _, row := range r.Usage {
		if err := row.check(r.Run); err != nil {
			return err
		}
	}
	return checkTalk(r.Talk)
}

// Answer answers a checkpoint of a record, as Store.Answer does in a journal:
// the same refusals, and nothing is changed by a refused one but an expiry.
func (r *Record) Answer(a work.Answer) (work.Checkpoint, error) {
	verb := "answer checkpoint " + a.Checkpoint
	n := slices.IndexFunc(r.Checkpoints, func(c work.Checkpoint) bool { return c.ID == a.Checkpoint })
	if n < 0 {
		return work.Checkpoint{}, fmt.Errorf("%s: %w", verb, work.ErrUnknown)
	}
	c := &r.Checkpoints[n]
	a = c.WithWords(a)
	if err := resolve(c, a); err != nil {
		return *c, fmt.Errorf("%s: %w", verb, err)
	}
	a.Revision = c.Revision
	r.Inbox = append(r.Inbox, a)
	return *c, nil
}
