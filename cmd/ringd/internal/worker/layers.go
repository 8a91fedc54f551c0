package worker

import (
	"context"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/schema"
)

// LayersRequest asks each layer of a policy about an action.
type LayersRequest struct {
	Sources []schema.Source
	Policy  string // its name
	Asked   layers.AskedAction
}

// AskLayers reads the sources in a child, under the limits of [Compile], and returns the answer of
// each layer, the outermost first. It returns nil if the sources have no such policy, or its layers
// are incomplete. Findings mean that a limit ended the child. The error is that of [Compile].
func AskLayers(
	ctx context.Context,
	cfg CompileConfig,
	req LayersRequest,
) ([]layers.LayerAnswer, schema.Diagnostics, error) {
	wire := diagnose(kindLayers, req.Sources)
	wire.Policy, wire.Asked = req.Policy, &req.Asked
	got, err := runCompile(ctx, cfg, wire)
	return got.layers, got.Diagnostics, err
}

// answerLayers is the child's side of [AskLayers].
func answerLayers(req compileRequest) []layers.LayerAnswer {
	if req.Asked == nil {
		return nil
	}
	policies, _ := schema.Decode(req.Sources)
	return layers.AskLayers(policies, req.Policy, *req.Asked)
}
