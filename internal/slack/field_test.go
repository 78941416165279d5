package slack

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/goleak"

	"forge/internal/slack/slacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *slacktest.Server {
	t.Helper()
	s := slacktest.Start()
	t.Cleanup(s.Close)
	return s
}

// The Slack of the tests is one for the client that is common in Go as well: it
// posts, edits and reads there, and hears by socket mode what people do.
func TestSlackOfTheTestsIsSlackToOthers(t *testing.T) {
	t.Parallel()
	s := start(t)
	api := slackgo.New(slacktest.BotToken, slackgo.OptionAppLevelToken(slacktest.AppToken), slackgo.OptionAPIURL(s.URL+"/"), slackgo.OptionLog(log.New(io.Discard, "", 0)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	who, err := api.AuthTestContext(ctx)
	if err != nil || who.BotID != slacktest.BotID {
		t.Fatalf("auth.test: %+v, %v", who, err)
	}
	button := slackgo.NewButtonBlockElement("a", "v", slackgo.NewTextBlockObject(slackgo.PlainTextType, "Go", false, false))
	_, ts, err := api.PostMessageContext(ctx, slacktest.Channel, slackgo.MsgOptionText("hello", false), slackgo.MsgOptionBlocks(slackgo.NewActionBlock("b", button)))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := api.UpdateMessageContext(ctx, slacktest.Channel, ts, slackgo.MsgOptionText("hello again", false), slackgo.MsgOptionBlocks(slackgo.NewActionBlock("b", button))); err != nil {
		t.Fatal(err)
	}
	page, err := api.GetConversationHistoryContext(ctx, &slackgo.GetConversationHistoryParameters{ChannelID: slacktest.Channel})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].Text != "hello again" || page.Messages[0].BotID != slacktest.BotID {
		t.Fatalf("history: %+v, %v", page, err)
	}
	if _, err := api.PostEphemeralContext(ctx, slacktest.Channel, "U1", slackgo.MsgOptionText("psst", false)); err != nil {
		t.Fatal(err)
	}

	link := socketmode.New(api, socketmode.OptionLog(log.New(io.Discard, "", 0)))
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = link.RunContext(ctx)
	}()
	var pressed, wrote bool
	for !pressed || !wrote {
		var e socketmode.Event
		select {
		case e = <-link.Events:
		case <-ctx.Done():
			t.Fatalf("heard too little: press %v, words %v", pressed, wrote)
		}
		switch data := e.Data.(type) {
		case slackgo.InteractionCallback:
			pressed = data.User.ID == "U1" && data.ActionCallback.BlockActions[0].Value == "v" && data.Container.MessageTs == ts
			if _, err := api.OpenViewContext(ctx, data.TriggerID, slackgo.ModalViewRequest{
				Type: slackgo.VTModal, Title: slackgo.NewTextBlockObject(slackgo.PlainTextType, "T", false, false), Close: slackgo.NewTextBlockObject(slackgo.PlainTextType, "C", false, false),
				Submit: slackgo.NewTextBlockObject(slackgo.PlainTextType, "S", false, false),
				Blocks: slackgo.Blocks{BlockSet: []slackgo.Block{slackgo.NewSectionBlock(slackgo.NewTextBlockObject(slackgo.PlainTextType, "x", false, false), nil, nil)}},
			}); err != nil {
				t.Errorf("a form: %v", err)
			}
			_ = link.Ack(*e.Request)
			s.Write("U1", ts, "words", 1)
		case slackevents.EventsAPIEvent:
			m, ok := data.InnerEvent.Data.(*slackevents.MessageEvent)
			wrote = ok && m.User == "U1" && m.Text == "words" && m.ThreadTimeStamp == ts
			_ = link.Ack(*e.Request)
		default:
			if e.Type == socketmode.EventTypeHello {
				press, err := s.Press("U1", s.Messages()[0], "Go")
				if err != nil {
					t.Fatal(err)
				}
				s.Deliver(press)
			}
		}
	}
	cancel()
	s.Drop()
	<-over
	if bad := s.Bad(); len(bad) > 0 {
		t.Errorf("refused: %v", bad)
	}
}

// What Forge posts is read by that client, every block and button of it.
func TestOthersReadOurMessages(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(blocks(fullCard()))
	if err != nil {
		t.Fatal(err)
	}
	var set slackgo.Blocks
	if err := json.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	kinds := map[slackgo.MessageBlockType]int{}
	for _, b := range set.BlockSet {
		kinds[b.BlockType()]++
		if actions, ok := b.(*slackgo.ActionBlock); ok && len(actions.Elements.ElementSet) != 4 {
			t.Errorf("%d buttons, want 4", len(actions.Elements.ElementSet))
		}
		if _, ok := b.(*slackgo.UnknownBlock); ok {
			t.Errorf("a block that is none: %+v", b)
		}
	}
	if kinds[slackgo.MBTHeader] != 1 || kinds[slackgo.MBTRichText] != 1 || kinds[slackgo.MBTAction] != 1 || kinds[slackgo.MBTSection] < 2 {
		t.Errorf("blocks: %v", kinds)
	}
	raw, _ = json.Marshal(form("Land it?", true, "held"))
	var view slackgo.ModalViewRequest
	if err := json.Unmarshal(raw, &view); err != nil || len(view.Blocks.BlockSet) != 2 || view.PrivateMetadata != "held" {
		t.Errorf("a form: %+v, %v", view, err)
	}
}
