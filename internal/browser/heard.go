package browser

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// What happens on a page while it is looked at. Everything here comes from the
// page: what cannot be read is passed over, and nothing of it is carried out.

func (v *visit) heard(m message) {
	switch m.Method {
	case "Page.loadEventFired":
		v.loaded = true
	case "Page.javascriptDialogOpening":
		v.dialog()
	case "Page.frameNavigated":
		v.moved(m.Params)
	case "Inspector.targetCrashed", "Target.targetCrashed":
		v.leave("the page crashed")
	case "Target.detachedFromTarget", "Target.targetDestroyed":
		v.leave("the page closed itself")
	case "Network.requestWillBeSent":
		v.requested(m.Params)
	case "Network.responseReceived":
		v.answered(m.Params)
	case "Network.loadingFinished":
		delete(v.loading, requestOf(m.Params))
	case "Network.loadingFailed":
		v.unanswered(m.Params)
	case "Runtime.exceptionThrown":
		v.thrown(m.Params)
	case "Runtime.consoleAPICalled":
		v.logged(m.Params)
	case "Log.entryAdded":
		v.entry(m.Params)
	}
}

// leave ends the visit, for the first reason that there is.
func (v *visit) leave(why string) {
	if v.left == "" {
		v.left = why
	}
}

// dialog says no to whatever the page asks: it waits for an answer, and everything
// else with it.
func (v *visit) dialog() {
	if v.dialogs++; v.dialogs > mostDialogs {
		v.leave(fmt.Sprintf("the page opened more than %d dialogs", mostDialogs))
	}
	if _, err := v.send("Page.handleJavaScriptDialog", values{"accept": false}); err != nil {
		v.leave(err.Error())
	}
}

func (v *visit) moved(params json.RawMessage) {
	var at struct {
		Frame struct {
			Parent      string `json:"parentId"`
			URL         string `json:"url"`
			Unreachable string `json:"unreachableUrl"`
		} `json:"frame"`
	}
	if json.Unmarshal(params, &at) != nil || at.Frame.Parent != "" || at.Frame.URL == "about:blank" {
		return
	}
	if at.Frame.Unreachable != "" {
		if v.reached { // before, its server is not there yet
			v.leave("it went to " + short(at.Frame.Unreachable) + ", which could not be loaded")
		}
		return
	}
	if v.moves++; v.moves > mostMoves {
		v.leave(fmt.Sprintf("the page went to another address more than %d times", mostMoves))
	}
}

// request is what events of the network have in common.
type request struct {
	ID     string `json:"requestId"`
	Loader string `json:"loaderId"`
	Type   string `json:"type"`
	Frame  string `json:"frameId"`
	// Request is that of requestWillBeSent.
	Request struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	} `json:"request"`
	Response struct {
		Status int    `json:"status"`
		URL    string `json:"url"`
	} `json:"response"`
	Error    string `json:"errorText"`
	Canceled bool   `json:"canceled"`
	Blocked  string `json:"blockedReason"`
}

func requestOf(params json.RawMessage) string {
	var r request
	_ = json.Unmarshal(params, &r) // nothing is under way by the name ""
	return r.ID
}

// mostAsked bounds the requests that are remembered by name.
const mostAsked = 2000

func (v *visit) requested(params json.RawMessage) {
	var r request
	if json.Unmarshal(params, &r) != nil || strings.HasPrefix(r.Request.URL, "data:") || len(v.asked) > mostAsked {
		return
	}
	if v.asked == nil {
		v.asked = map[string]string{}
	}
	v.asked[r.ID] = r.Request.Method + " " + short(r.Request.URL)
	if r.Type != "WebSocket" && r.Type != "EventSource" { // which are open as long as the page is
		v.loading[r.ID] = true
	}
}

func (v *visit) answered(params json.RawMessage) {
	var r request
	if json.Unmarshal(params, &r) != nil {
		return
	}
	if r.Type == "Document" && r.ID == r.Loader && v.moves <= 1 {
		v.status = r.Response.Status
	}
	if r.Response.Status >= 400 && !favicon(r.Response.URL) {
		v.note(fmt.Sprintf("%s: status %d", v.name(r), r.Response.Status))
	}
}

func (v *visit) unanswered(params json.RawMessage) {
	var r request
	if json.Unmarshal(params, &r) != nil {
		return
	}
	delete(v.loading, r.ID)
	if v.sought[r.ID] || r.Canceled || r.Error == "net::ERR_ABORTED" {
		return // the server was not there yet, or the page went on by itself
	}
	if r.Error == "net::ERR_CONNECTION_REFUSED" && r.Type == "Document" && !v.reached {
		return
	}
	if name := v.asked[r.ID]; !favicon(name) {
		v.note(strings.TrimSpace(v.name(r) + ": " + r.Error + " " + r.Blocked))
	}
}

// name is a request as errors name it.
func (v *visit) name(r request) string {
	if said := v.asked[r.ID]; said != "" {
		return said
	}
	return "GET " + short(r.Response.URL)
}

// favicon says that a browser asks for it by itself.
func favicon(address string) bool { return strings.HasSuffix(address, "/favicon.ico") }

// short is an address without what differs from one call to the next, nor what may
// be a secret.
func short(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	u.RawQuery, u.Fragment, u.User = "", "", nil
	if u.Scheme == "data" || u.Scheme == "blob" {
		return u.Scheme + ":…"
	}
	if host := u.Hostname(); host == "localhost" || host == "127.0.0.1" || host == "::1" {
		return u.EscapedPath()
	}
	return u.String()
}

func (v *visit) thrown(params json.RawMessage) {
	var e struct {
		Details struct {
			Text      string `json:"text"`
			Exception struct {
				Description string          `json:"description"`
				Value       json.RawMessage `json:"value"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if json.Unmarshal(params, &e) != nil {
		return
	}
	said := firstLine(e.Details.Exception.Description)
	if said == "" {
		said = e.Details.Text + " " + quoted(e.Details.Exception.Value)
	}
	v.note("uncaught " + said)
}

func (v *visit) logged(params json.RawMessage) {
	var c struct {
		Type string `json:"type"`
		Args []struct {
			Value       json.RawMessage `json:"value"`
			Description string          `json:"description"`
		} `json:"args"`
	}
	if json.Unmarshal(params, &c) != nil || c.Type != "error" && c.Type != "assert" {
		return
	}
	var said []string
	for _, a := range c.Args {
		if a.Description != "" {
			said = append(said, firstLine(a.Description))
		} else if len(a.Value) > 0 {
			said = append(said, quoted(a.Value))
		}
	}
	v.note("console " + strings.Join(said, " "))
}

// entry is what the browser itself says of the page, such as what its policy
// forbids it. Of requests it is told above, by name.
func (v *visit) entry(params json.RawMessage) {
	var e struct {
		Entry struct {
			Source string `json:"source"`
			Level  string `json:"level"`
			Text   string `json:"text"`
		} `json:"entry"`
	}
	if json.Unmarshal(params, &e) == nil && e.Entry.Level == "error" && e.Entry.Source != "network" {
		v.note(e.Entry.Source + " " + e.Entry.Text)
	}
}
