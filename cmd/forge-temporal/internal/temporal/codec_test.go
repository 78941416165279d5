package temporal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	common "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"
)

type memory map[string][]byte

func (m memory) PutBlob(_ context.Context, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	m[hex.EncodeToString(sum[:])] = bytes.Clone(data)
	return hex.EncodeToString(sum[:]), nil
}

func (m memory) Blob(_ context.Context, sha string) ([]byte, error) {
	if data, ok := m[sha]; ok {
		return data, nil
	}
	return nil, errors.New("no such blob")
}

const testKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// Whatever is written is read back; no payload is larger than it may be, and with a
// key none shows what it holds.
func TestConverters(t *testing.T) {
	for name, key := range map[string]string{"without a key": "", "with a key": testKey} {
		t.Run(name, func(t *testing.T) {
			blobs := memory{}
			data, _, err := Converters(blobs, key)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"", "small", strings.Repeat("large ", 900_000)} {
				p, err := data.ToPayload(text)
				if err != nil {
					t.Fatal(err)
				}
				if n := proto.Size(p); n > MaxPayload+200 {
					t.Errorf("a text of %d bytes became a payload of %d", len(text), n)
				}
				if key != "" && len(text) > 0 && bytes.Contains(p.Data, []byte(text[:5])) {
					t.Errorf("the payload shows %q", text[:5])
				}
				var back string
				if err := data.FromPayload(p, &back); err != nil || back != text {
					t.Errorf("a text of %d bytes came back with %d: %v", len(text), len(back), err)
				}
			}
			if len(blobs) != 1 {
				t.Errorf("%d blobs are kept, want one", len(blobs))
			}
		})
	}
}

// A payload that cannot be read as it was written is an error, and nothing else.
func TestPayloadsThatCannotBeRead(t *testing.T) {
	blobs := memory{}
	data, _, err := Converters(blobs, testKey)
	if err != nil {
		t.Fatal(err)
	}
	p, err := data.ToPayload("text")
	if err != nil {
		t.Fatal(err)
	}
	changed := proto.Clone(p).(*common.Payload)
	changed.Data[len(changed.Data)-1] ^= 1
	cut := proto.Clone(p).(*common.Payload)
	cut.Data = cut.Data[:5]
	other, _, err := Converters(blobs, strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	large, err := data.ToPayload(strings.Repeat("x", 2*MaxPayload))
	if err != nil {
		t.Fatal(err)
	}
	clear(blobs)
	var into string
	for name, err := range map[string]error{
		"tampered with": data.FromPayload(changed, &into), "cut off": data.FromPayload(cut, &into),
		"another key": other.FromPayload(p, &into), "no blob": data.FromPayload(large, &into),
	} {
		if err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
	for _, key := range []string{"short", strings.Repeat("zz", 32)} {
		if _, _, err := Converters(nil, key); err == nil {
			t.Errorf("%q is taken as a key", key)
		}
	}
}

// What is read comes from a server that others write to.
func FuzzDecode(f *testing.F) {
	c, err := newCrypt(testKey)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(encodingCrypt), []byte(c.name), []byte("0123456789abcdef"))
	f.Add([]byte(encodingClaim), []byte(""), []byte("../../etc/passwd"))
	f.Fuzz(func(t *testing.T, encoding, name, data []byte) {
		in := []*common.Payload{{Metadata: map[string][]byte{encodingKey: encoding, cryptKey: name}, Data: data}}
		if out, err := c.Decode(in); err == nil && bytes.Equal(encoding, []byte(encodingCrypt)) {
			t.Errorf("what nobody encrypted was decrypted to %v", out)
		}
		if _, err := (claims{memory{}}).Decode(in); err == nil && bytes.Equal(encoding, []byte(encodingClaim)) {
			t.Error("a blob that is not there was read")
		}
	})
}
