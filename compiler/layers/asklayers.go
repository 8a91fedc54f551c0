package layers

import (
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/schema"
)

// AskedAction is a question about one action. Only the first field that is set is used. If no field is set,
// every layer is silent.
type AskedAction struct {
	Import    *profiles.ImportAction `json:"import,omitempty"`
	Program   string                 `json:"program,omitempty"` // its path, or the name of a listed program
	Host      *AskedHost             `json:"host,omitempty"`
	Bridge    string                 `json:"bridge,omitempty"`
	File      *profiles.FileAction   `json:"file,omitempty"`
	Executor  string                 `json:"executor,omitempty"`
	Workspace string                 `json:"workspace,omitempty"` // the folder of $WORKSPACE and ~ in File
	Home      string                 `json:"home,omitempty"`
}

// AskedHost is a target. An absent method or path is not checked.
type AskedHost struct {
	Name   string `json:"name"`
	Port   int    `json:"port,omitempty"` // 0: 443
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
}

// LayerAnswer is the answer of one document.
type LayerAnswer struct {
	Layer string         `json:"layer"` // "OrgPolicy acme"
	Owner string         `json:"owner"`
	Says  string         `json:"says"`           // the String of a Word
	Rule  *profiles.Rule `json:"rule,omitempty"` // nil: the document is silent
}

// AskLayers returns what each layer of an agent's policy says about an action, for `ringd explain`. name is
// the name of the policy. The outermost layer comes first and the policy itself last. The result is nil if
// there is no such policy, or if the chain of its layers is broken.
func AskLayers(policies []schema.Policy, name string, a AskedAction) (out []LayerAnswer) {
	at := slices.IndexFunc(policies, func(p schema.Policy) bool {
		return !p.Compact && p.Kind == KindAgent &&
			p.Metadata.Name == name
	})
	if at < 0 {
		return nil
	}
	chains := chainsOf(policies)
	if chains.Broken[at] {
		return nil
	}
	for ; at >= 0; at = chains.Parents[at] {
		p := &policies[at]
		ans := a.of(p)
		l := LayerAnswer{Layer: LayerName(p.Kind, p.Metadata.Name), Owner: p.Metadata.Owner, Says: ans.Word.String()}
		if ans.Path != "" {
			o := schema.OriginOf(p, ans.Path)
			l.Rule = &profiles.Rule{File: o.Pos.File, Line: o.Pos.Line, Column: o.Pos.Column, Path: o.Path}
		}
		out = append(out, l)
	}
	slices.Reverse(out)
	return out
}

// of returns the answer of a document.
func (a *AskedAction) of(p *schema.Policy) Answer {
	switch {
	case a.Import != nil:
		return answerImport(p, a.Import.Executor, a.Import.Module)
	case a.Program != "":
		return answerProgram(p, a.Program)
	case a.Host != nil:
		return a.Host.of(p)
	case a.Bridge != "":
		return answerBridge(p, a.Bridge)
	case a.File != nil:
		return answerFile(p, a.File.Op, a.File.Path, func(rule string) (string,
			bool) {
			return paths.Expand(rule, a.Workspace, a.Home)
		})
	case a.Executor != "":
		return answerExecutor(p, a.Executor)
	default:
		return Answer{}
	}
}

func (h *AskedHost) of(p *schema.Policy) Answer {
	n := p.Spec.Network
	if n == nil {
		return Answer{}
	}
	if name, ok := egress.Label(h.Name); ok {
		return answerGateway(p, name)
	}
	want := schema.Egress{Host: h.Name, Ports: []int{443}}
	if h.Port != 0 {
		want.Ports[0] = h.Port
	}
	q, network := *p, *n
	network.Egress = slices.Clone(n.Egress) // nil stays nil
	for i := range network.Egress {
		if h.Method == "" {
			network.Egress[i].Methods = nil
		}
		if h.Path == "" {
			network.Egress[i].Paths = nil
		}
	}
	if h.Method != "" {
		want.Methods = []string{h.Method}
	}
	if h.Path != "" {
		want.Paths = []string{h.Path}
	}
	q.Spec.Network = &network
	return answerHost(&q, want)
}
