package llm

import (
	"context"
	"fmt"
	"math"

	openai "github.com/sashabaranov/go-openai"
)

// maxDims is the longest vector that is taken.
const maxDims = 8192

// Vectors are what a model makes of texts.
type Vectors struct {
	Model  string
	Of     [][]float32 // one for each text, in their order, all of one length; nil with an error
	Tokens *int64      // of all tries together; nil = unknown
}

// Embed has the model of RoleEmbedding make vectors of texts. Without a model for
// that role there is none: what answers questions makes no vectors. The error is a
// *Trouble.
func (c *Client) Embed(ctx context.Context, texts []string) (Vectors, error) {
	out := Vectors{Model: c.cfg.Roles[RoleEmbedding]}
	if trouble := c.ready(out.Model, RoleEmbedding); trouble != nil {
		return out, trouble
	}
	clean := make([]string, len(texts))
	for n, one := range texts {
		clean[n] = c.red.String(one)
	}
	v := &conversation{client: c}
	req := openai.EmbeddingRequestStrings{Input: clean, Model: openai.EmbeddingModel(out.Model)}
	res, trouble := again(ctx, c, func() (res openai.EmbeddingResponse, _ *Trouble) {
		trouble := v.exchange(ctx, out.Model, func(api *openai.Client) (given bool, err error) {
			res, err = api.CreateEmbeddings(ctx, req)
			return len(res.Data) > 0, err
		})
		return res, trouble
	})
	if !v.spent.unknownIn {
		out.Tokens = &v.spent.in
	}
	if trouble != nil {
		return out, trouble
	}
	var err error
	if out.Of, err = inOrder(res.Data, len(texts)); err != nil {
		return out, badAnswer("the vectors cannot be used: %v", err)
	}
	return out, nil
}

// inOrder puts vectors into the order of their texts; each text has to have one.
func inOrder(data []openai.Embedding, texts int) ([][]float32, error) {
	if len(data) != texts {
		return nil, fmt.Errorf("there are %d for %d texts", len(data), texts)
	}
	out := make([][]float32, texts)
	for _, one := range data {
		switch n := len(one.Embedding); {
		case one.Index < 0 || one.Index >= texts || out[one.Index] != nil:
			return nil, fmt.Errorf("one is of text %d of %d, which is none or has one", one.Index, texts)
		case n == 0 || n > maxDims || n != len(data[0].Embedding):
			return nil, fmt.Errorf("one has %d numbers, another %d; 1 to %d are read", n, len(data[0].Embedding), maxDims)
		}
		length := 0.0
		for _, x := range one.Embedding {
			length += float64(x) * float64(x)
		}
		if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
			return nil, fmt.Errorf("that of text %d points nowhere", one.Index)
		}
		out[one.Index] = one.Embedding
	}
	return out, nil
}
