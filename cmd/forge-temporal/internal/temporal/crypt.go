package temporal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
)

const (
	encodingCrypt = "binary/forge-aes-gcm"
	cryptKey      = "forge-key"
)

// crypt encrypts payloads with AES-256-GCM. Each names the key, by a part of its
// hash, so that a wrong key is told from a payload that was tampered with.
type crypt struct {
	seal cipher.AEAD
	name string
}

// newCrypt takes a key of 32 bytes, in hexadecimal or base64.
func newCrypt(key string) (*crypt, error) {
	key = strings.TrimSpace(key)
	raw, err := hex.DecodeString(key)
	if err != nil {
		raw, err = base64.StdEncoding.DecodeString(key)
	}
	if err != nil || len(raw) != 32 {
		return nil, errors.New("the key is not 32 bytes in hexadecimal or base64: openssl rand -hex 32 makes one")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return &crypt{seal: seal, name: hex.EncodeToString(sum[:4])}, nil
}

// Encode encrypts each payload, with what stands about it.
func (c *crypt) Encode(in []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(in))
	for i, p := range in {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("write a payload: %w", err)
		}
		nonce := make([]byte, c.seal.NonceSize(), c.seal.NonceSize()+len(plain)+c.seal.Overhead())
		// crypto/rand never fails (it ends the program instead).
		_, _ = rand.Read(nonce)
		out[i] = &common.Payload{
			Metadata: map[string][]byte{encodingKey: []byte(encodingCrypt), cryptKey: []byte(c.name)},
			Data:     c.seal.Seal(nonce, nonce, plain, []byte(c.name)),
		}
	}
	return out, nil
}

// Decode decrypts what Encode wrote. A payload that is not encrypted was written
// before there was a key, and is left as it is.
func (c *crypt) Decode(in []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(in))
	for i, p := range in {
		if out[i] = p; !bytes.Equal(p.GetMetadata()[encodingKey], []byte(encodingCrypt)) {
			continue
		}
		if name := string(p.GetMetadata()[cryptKey]); name != c.name {
			return nil, fmt.Errorf("a payload was encrypted with key %q, and this is key %q", name, c.name)
		}
		n := c.seal.NonceSize()
		if len(p.GetData()) < n {
			return nil, errors.New("an encrypted payload is cut off")
		}
		plain, err := c.seal.Open(nil, p.GetData()[:n], p.GetData()[n:], []byte(c.name))
		if err != nil {
			return nil, fmt.Errorf("decrypt a payload: %w", err)
		}
		out[i] = &common.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, fmt.Errorf("read a decrypted payload: %w", err)
		}
	}
	return out, nil
}

// Converters are how payloads and failures are written: what is large into blobs,
// and encrypted where there is a key ("" = none).
func Converters(blobs Blobs, key string) (converter.DataConverter, converter.FailureConverter, error) {
	var codecs []converter.PayloadCodec
	if key != "" {
		c, err := newCrypt(key)
		if err != nil {
			return nil, nil, err
		}
		codecs = append(codecs, c) // the last to encode, the first to decode
	}
	if blobs != nil {
		codecs = append(codecs, claims{blobs})
	}
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codecs...)
	failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: data, EncodeCommonAttributes: key != "",
	})
	return workflow.DataConverterWithoutDeadlockDetection(data), failures, nil
}
