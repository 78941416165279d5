package llm

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"forge/internal/text"
)

// clean makes a foreign text fit to be shown: one line, without secrets.
func (c *Client) clean(words string) string { return foreign(c.red.String(words)) }

// mostSaid is how many bytes of a foreign text an error quotes.
const mostSaid = 300

// foreign is a foreign text short enough for one line of an error.
func foreign(words string) string { return text.Clip(text.PlainLine(words), mostSaid) }

func said(words string) string {
	if words == "" {
		return ""
	}
	return ": " + words
}

// beginning shows how a strange answer begins.
func (c *Client) beginning(body []byte) string {
	const read, most = 4096, 100
	begins := text.Clip(text.PlainLine(c.red.String(text.Cut(string(body[:min(len(body), read)]), read))), most)
	if begins == "" {
		return ": it is empty"
	}
	return "; it begins with " + begins
}

// errorWords are what the body of an HTTP error says: code, type and message
// where it has the usual shape, else its beginning.
func errorWords(body []byte, err error) string {
	var usual struct {
		Error struct {
			Message json.RawMessage `json:"message"`
			Type    json.RawMessage `json:"type"`
			Code    json.RawMessage `json:"code"`
			Param   json.RawMessage `json:"param"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &usual) == nil {
		var parts []string
		for _, raw := range []json.RawMessage{usual.Error.Message, usual.Error.Type, usual.Error.Code, usual.Error.Param} {
			var text string
			if len(raw) == 0 || string(raw) == "null" {
				continue
			}
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			if text != "" {
				parts = append(parts, text)
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, ", ")
		}
	}
	const most = 2000
	if len(body) > 0 {
		return text.Cut(string(body[:min(len(body), most)]), most)
	}
	if err != nil {
		return rootCause(err)
	}
	return ""
}

// elsewhere names the host of a redirect.
func (c *Client) elsewhere(h http.Header) string {
	u, err := url.Parse(h.Get("Location"))
	if err != nil || u.Host == "" {
		return ""
	}
	return ", to " + c.clean(u.Host)
}

// rootCause drops the address from a transport's error; it is in the
// configuration.
func rootCause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
