package tui

import (
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// liveModel is what a person sees and does: the board, and below it the
// question that is open. Its methods are called from one goroutine.
type liveModel struct {
	look   func() glimpse
	answer func(work.Answer) (work.Checkpoint, error)
	diff   func(question) (string, error)
	show   func(lines []string, full bool, width int)
	by     string
	now    func() time.Time
	// bare leaves the board out: only questions are shown.
	bare bool

	width, height int
	board         board
	asking        *asking
	page          *page
	sent          map[string]bool // answered here, and not yet taken up by the run
	aside         map[string]bool // put aside by the person
	all           bool            // "yes to all" was chosen
	notice        string
	noticeUntil   time.Time
}

// glimpse is what has become known since the last look.
type glimpse struct {
	board    board
	answered []orchestrator.CheckpointAnsweredData
}

// The messages of the model.
type (
	// lookMsg says that there is something new to see.
	lookMsg struct{}
	// answeredMsg is what came of an answer.
	answeredMsg struct {
		id  string
		cp  work.Checkpoint
		err error
	}
	// readyMsg lets the keys of a question work.
	readyMsg struct{ id string }
	// pageMsg is the text of a page.
	pageMsg struct {
		id, text string
		err      error
	}
)

// noticeFor is how long something that is said in passing stays.
const noticeFor = 8 * time.Second

func newLiveModel(by string, now func() time.Time) *liveModel {
	return &liveModel{by: by, now: now, sent: map[string]bool{}, aside: map[string]bool{}}
}

func (m *liveModel) Init() tea.Cmd { return nil }

// View is empty: the model draws on the screen itself, which log lines share.
func (m *liveModel) View() tea.View { return tea.View{} }

func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 {
			m.width, m.height = msg.Width, msg.Height
			cmd = m.resized()
		}
	case lookMsg:
		cmd = m.see()
	case answeredMsg:
		cmd = m.answered(msg)
	case readyMsg:
		if m.asking != nil && m.asking.q.Checkpoint.ID == msg.id {
			m.asking.ready = true
		}
	case pageMsg:
		if m.page != nil && m.page.id == msg.id {
			m.page.loaded(msg, m.width)
		}
	case tea.KeyPressMsg:
		cmd = m.pressed(msg)
	default:
		if m.asking != nil {
			cmd = m.asking.update(msg)
			if next := m.decided(); next != nil {
				cmd = tea.Batch(cmd, next)
			}
		}
	}
	if m.width > 0 {
		m.draw()
	}
	return m, cmd
}

// see takes in what is new, and asks the next question when there is one.
func (m *liveModel) see() tea.Cmd {
	g := m.look()
	m.board = g.board
	if m.asking != nil && !m.isOpen(m.asking.q.Checkpoint.ID) {
		m.gone(m.asking.q, g.answered)
		m.asking, m.page = nil, nil
	}
	var cmds []tea.Cmd
	if m.all {
		for _, q := range m.board.Questions {
			if a, ok := yesTo(q, m.by, m.now()); ok && !m.sent[q.Checkpoint.ID] {
				cmds = append(cmds, m.send(a))
			}
		}
	}
	return tea.Batch(append(cmds, m.ask())...)
}

func (m *liveModel) isOpen(id string) bool {
	for _, q := range m.board.Questions {
		if q.Checkpoint.ID == id {
			return true
		}
	}
	return false
}

// gone says who answered a question that was on the screen, and where.
func (m *liveModel) gone(q question, answers []orchestrator.CheckpointAnsweredData) {
	for _, a := range answers {
		if a.ID == q.Checkpoint.ID && a.Refused == "" {
			m.tell(text.OneLine(a.By, 40) + " answered (" + text.OneLine(a.Door, 20) + "): " + said(a.Status, a.Choice) + " – " + text.OneLine(q.Checkpoint.Question, 200))
			return
		}
	}
	m.tell("no longer asked: " + text.OneLine(q.Checkpoint.Question, 200))
}

func (m *liveModel) tell(text string) { m.notice, m.noticeUntil = text, m.now().Add(noticeFor) }

// ask shows the first open question that nobody has answered or put aside.
func (m *liveModel) ask() tea.Cmd {
	if m.asking != nil || m.width == 0 {
		return nil
	}
	for _, q := range m.board.Questions {
		if !m.sent[q.Checkpoint.ID] && !m.aside[q.Checkpoint.ID] {
			m.asking = newAsking(q)
			return tea.Batch(m.asking.begin(m.width), tea.Tick(readyAfter, func(time.Time) tea.Msg { return readyMsg{q.Checkpoint.ID} }))
		}
	}
	return nil
}

// send writes an answer beside what is shown.
func (m *liveModel) send(a work.Answer) tea.Cmd {
	m.sent[a.Checkpoint] = true
	if m.asking != nil && m.asking.q.Checkpoint.ID == a.Checkpoint {
		m.asking, m.page = nil, nil
	}
	return func() tea.Msg {
		cp, err := m.answer(a)
		return answeredMsg{id: a.Checkpoint, cp: cp, err: err}
	}
}

// answered looks at what came of an answer. One that could not be written
// leaves the question open.
func (m *liveModel) answered(msg answeredMsg) tea.Cmd {
	if msg.err == nil {
		return m.ask()
	}
	if msg.cp.ID != "" && msg.cp.Status != work.CheckpointPending {
		// Somebody was faster; the run will say so too.
		m.tell(text.OneLine(msg.cp.AnsweredBy, 40) + " was faster (" + text.OneLine(msg.cp.Door, 20) + "): " + said(msg.cp.Status, msg.cp.Choice) + " – " + text.OneLine(msg.cp.Question, 200))
		return m.ask()
	}
	delete(m.sent, msg.id)
	m.all = false
	m.tell("not answered: " + text.OneLine(msg.err.Error(), 400))
	return m.ask()
}

// pressed handles a key. Nothing is answered before the question had time to be
// seen.
func (m *liveModel) pressed(key tea.KeyPressMsg) tea.Cmd {
	if key.String() == "ctrl+c" {
		// Only a terminal that does not make a signal of it sends this.
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(os.Interrupt)
		}
		return nil
	}
	switch {
	case m.page != nil:
		if m.page.pressed(key.String(), m.height) {
			m.page = nil
		}
		return nil
	case m.asking == nil:
		if key.String() == "enter" && len(m.aside) > 0 {
			clear(m.aside)
			return m.ask()
		}
		return nil
	case !m.asking.ready:
		return nil
	case key.String() == "esc":
		if m.asking.step == stepChoose {
			m.aside[m.asking.q.Checkpoint.ID] = true
			m.asking = nil
			return m.ask()
		}
		return m.asking.choose(m.width)
	}
	cmd := m.asking.pressed(key)
	if next := m.decided(); next != nil {
		return tea.Batch(cmd, next)
	}
	return cmd
}

// decided carries on when the person has finished a step of the question.
func (m *liveModel) decided() tea.Cmd {
	a := m.asking
	switch {
	case a == nil:
		return nil
	case a.aborted():
		return a.choose(m.width)
	case !a.complete():
		return nil
	}
	o := a.opts[a.pick]
	switch {
	case a.step == stepConfirm && !a.sure:
		return a.choose(m.width)
	case a.step != stepChoose:
		return m.send(o.answer(a.q.Checkpoint, a.comment, m.by, m.now()))
	}
	switch {
	case o.deed == deedLook:
		m.page = newPage(a.q, m.width)
		return tea.Batch(a.choose(m.width), m.load(a.q))
	case o.deed == deedAbort:
		return a.confirm(m.width)
	case o.comment != noComment:
		return a.say(m.width)
	case o.deed == deedAll:
		m.all = true
		return tea.Batch(m.send(o.answer(a.q.Checkpoint, "", m.by, m.now())), m.see())
	}
	return m.send(o.answer(a.q.Checkpoint, "", m.by, m.now()))
}

func (m *liveModel) load(q question) tea.Cmd {
	if !q.changed() {
		return nil
	}
	return func() tea.Msg {
		text, err := m.diff(q)
		return pageMsg{id: q.Checkpoint.ID, text: text, err: err}
	}
}

func (m *liveModel) resized() tea.Cmd {
	if m.page != nil {
		m.page.wrap(m.width)
	}
	if m.asking != nil {
		return m.asking.resize(m.width)
	}
	return nil
}

// draw shows the block: the board, a notice, and the question below it.
func (m *liveModel) draw() {
	if m.page != nil {
		m.show(m.page.lines(m.width, m.height), true, m.width)
		return
	}
	// The last row stays free: a terminal that scrolls by itself would move
	// the block.
	room := max(m.height-1, 1)
	var below []string
	if m.notice != "" && m.now().Before(m.noticeUntil) {
		below = append(below, Fit(styled(styleWarn, m.notice), m.width-1))
	}
	switch open := len(m.board.Questions); {
	case m.asking != nil:
		if !m.bare && m.height >= 20 {
			below = append(below, "")
		}
		least := 2 // a row and the progress
		below = append(below, m.asking.lines(m.width, room-least-len(below), m.number(), open)...)
	case len(m.aside) > 0 && open > 0:
		below = append(below, Fit(styled(styleWarn, waitText(open))+styled(styleFaint, "  enter: answer · ctrl+c: stop; forge resume goes on"), m.width-1))
	}
	var block []string
	if !m.bare {
		// Something of what was logged stays in sight.
		block = m.board.lines(m.width, min(room-len(below), max(room*2/3, 6)), m.now())
	}
	block = append(block, below...)
	for i, line := range block {
		if ansi.StringWidth(line) >= m.width {
			block[i] = Fit(line, m.width-1)
		}
	}
	if len(block) > room {
		block = block[len(block)-room:]
	}
	m.show(block, false, m.width)
}

func waitText(n int) string {
	if n == 1 {
		return "a question waits for you"
	}
	return fmt.Sprintf("%d questions wait for you", n)
}

// number is the place of the question that is shown among the open ones.
func (m *liveModel) number() int {
	for i, q := range m.board.Questions {
		if q.Checkpoint.ID == m.asking.q.Checkpoint.ID {
			return i + 1
		}
	}
	return 1
}
