package slack

import (
	"context"
	"errors"
	"time"

	"forge/internal/door"
	"forge/internal/text"
)

// mostPages is how many pages of a channel are looked through for a message.
const mostPages = 10

// Place is a channel as a place where people are asked.
type Place struct {
	Client  *Client
	Channel string
}

// Key names the channel.
func (p *Place) Key() string { return "slack " + p.Channel }

// Post posts a card.
func (p *Place) Post(ctx context.Context, c door.Card) (string, error) {
	ts, err := p.Client.post(ctx, p.message(c, ""))
	return ts, asTrouble(err)
}

// Edit changes a message.
func (p *Place) Edit(ctx context.Context, ref string, c door.Card) error {
	_, err := p.Client.call(ctx, "chat.update", p.message(c, ref), nil)
	return asTrouble(err)
}

func (p *Place) message(c door.Card, ts string) map[string]any {
	in := map[string]any{
		"channel": p.Channel, "text": fallback(c), "blocks": blocks(c),
		"mrkdwn": "false", "parse": "none", "link_names": "false", "unfurl_links": "false", "unfurl_media": "false",
	}
	if ts != "" {
		in["ts"] = ts
	}
	return in
}

// Find looks for the message about a subject, among those of this bot alone: others
// may write what they like.
func (p *Place) Find(ctx context.Context, subject string, since time.Time) (string, error) {
	bot, err := p.Client.botID(ctx)
	if err != nil {
		return "", asTrouble(err)
	}
	cursor := ""
	for range mostPages {
		page, next, err := p.Client.history(ctx, p.Channel, since, 200, cursor)
		if err != nil {
			return "", asTrouble(err)
		}
		for _, m := range page {
			if m.BotID == bot && len(m.Blocks) > 0 && m.Blocks[0].ID == idOfCard+subject {
				return m.TS, nil
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return "", nil
}

// whisper tells somebody something that nobody else sees; thread "" = in the
// channel itself.
func (p *Place) whisper(ctx context.Context, user, thread, words string) error {
	in := map[string]any{"channel": p.Channel, "user": user, "text": escape(text.Clip(words, 2500)), "mrkdwn": "false", "parse": "none", "link_names": "false"}
	if thread != "" {
		in["thread_ts"] = thread
	}
	_, err := p.Client.call(ctx, "chat.postEphemeral", in, nil)
	return err
}

// asTrouble is err as doors know it.
func asTrouble(err error) error {
	var t *Trouble
	if err == nil || !errors.As(err, &t) {
		return err
	}
	out := &door.Trouble{Err: t, After: t.After, All: t.OfAll(), Sure: !t.Unsure}
	switch t.Code {
	case "message_not_found", "cant_update_message", "edit_window_closed", "cant_broadcast_message":
		out.Gone = true
	}
	return out
}
