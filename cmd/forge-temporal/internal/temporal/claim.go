package temporal

import (
	"bytes"
	"context"
	"fmt"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// MaxPayload is how large a payload may be that stands in a history; what is larger
// is kept beside the journal, and its hash stands there.
const MaxPayload = 16 << 10

// Blobs keep what is too large for a history, by its SHA-256; a journal does.
// What they return is what the hash names, or an error.
type Blobs interface {
	PutBlob(ctx context.Context, data []byte) (sha string, err error)
	Blob(ctx context.Context, sha string) ([]byte, error)
}

const (
	encodingKey   = converter.MetadataEncoding
	encodingClaim = "binary/forge-blob"
)

// claims puts large payloads into blobs. What a hash names never changes, so that a
// workflow that is replayed reads the same.
type claims struct{ blobs Blobs }

// blobsFor is how long a blob may take.
const blobsFor = 30 * time.Second

// Encode leaves small payloads as they are.
func (c claims) Encode(in []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(in))
	for i, p := range in {
		if out[i] = p; proto.Size(p) <= MaxPayload {
			continue
		}
		data, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("write a payload: %w", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), blobsFor)
		sha, err := c.blobs.PutBlob(ctx, data)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("keep a payload of %d bytes: %w", len(data), err)
		}
		out[i] = &common.Payload{Metadata: map[string][]byte{encodingKey: []byte(encodingClaim)}, Data: []byte(sha)}
	}
	return out, nil
}

// Decode reads what Encode put away.
func (c claims) Decode(in []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(in))
	for i, p := range in {
		if out[i] = p; !bytes.Equal(p.GetMetadata()[encodingKey], []byte(encodingClaim)) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), blobsFor)
		data, err := c.blobs.Blob(ctx, string(p.GetData()))
		cancel()
		if err == nil {
			out[i] = &common.Payload{}
			err = proto.Unmarshal(data, out[i])
		}
		if err != nil {
			return nil, fmt.Errorf("read the payload %s: %w", p.GetData(), err)
		}
	}
	return out, nil
}
