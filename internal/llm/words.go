package llm

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// clean makes a foreign text fit to be shown: one line, without secrets.
func (c *Client) clean(text string) string { return clip(c.red.String(text)) }

func said(words string) string {
	if words == "" {
		return ""
	}
	return ": " + words
}

// beginning shows how a strange answer begins.
func (c *Client) beginning(body []byte) string {
	const read, most = 4096, 100
	text := c.red.String(string(body[:min(len(body), read)]))
	text = clip(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	if text == "" {
		return ": it is empty"
	}
	return "; it begins with " + text
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
		return string(body[:min(len(body), most)])
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
