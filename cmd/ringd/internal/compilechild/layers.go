package compilechild

import (
	"context"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/schema"
)

// LayersRequest asks what the layers of a policy say of an action, each by itself.
type LayersRequest struct {
	Sources []schema.Source
	Policy  string // its name
	Asked   layers.AskedAction
}

// Layers reads the sources in a child, under the limits of Run, and gives what each
// layer says, the outermost first; nil where the sources have no such policy, or its
// layers are not whole. Findings say that the child was ended; the error is as that of
// Run.
func Layers(ctx context.Context, cfg Config, req LayersRequest) ([]layers.LayerAnswer, schema.Diagnostics, error) {
	got, err := run(ctx, cfg, request{Kind: kindLayers, Sources: req.Sources, Policy: req.Policy, Asked: &req.Asked, DiagnosticsOnly: true})
	return got.layers, got.Diagnostics, err
}

// askLayers is the child's side of Layers.
func askLayers(req request) []layers.LayerAnswer {
	if req.Asked == nil {
		return nil
	}
	policies, _ := schema.Decode(req.Sources)
	return layers.AskLayers(policies, req.Policy, *req.Asked)
}
