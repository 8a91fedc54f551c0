// This file says where in the author's text a decision comes from, and what in the
// action met it. It is pure.

package profiles

// Rule names the line of the author's text that a compiled rule comes from.
// File is relative to the folder of the policy, so that the same sources
// compile to the same bytes on every host. The zero Rule means "no rule": the
// default decided.
type Rule struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path"` // as the author wrote it: interpreter_ring.denied_patterns[0]
	// Layer is the ceiling that the rule stands in, "OrgPolicy acme"; "": the policy
	// of the agent itself.
	Layer string `json:"layer,omitempty"`
}

// Evidence shows what in the action met the rule. It holds no argument values
// of bridges.
type Evidence struct {
	Argv   []string `json:"argv,omitempty"`
	Line   int      `json:"line,omitempty"`
	Column int      `json:"column,omitempty"`
	Chain  []string `json:"chain,omitempty"`
}

// PathRule is one file grant or denial: a clean absolute path, or one that
// starts with $WORKSPACE or ~.
type PathRule struct {
	Path string `json:"path"`
	Rule Rule   `json:"rule"`
	// Within are the paths of the layers above that a grant lies below as it is written:
	// what its path leads to has to lie below what each of theirs does.
	Within []string `json:"within,omitempty"`
}
