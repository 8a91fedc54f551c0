package profiles

// Rule is the position in the author's text from which a compiled rule comes. File is relative to the policy
// folder, so that the same sources compile to the same bytes on every host. The zero Rule means that no rule
// decided, but the default.
type Rule struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path"` // as the author wrote it: interpreter_ring.denied_patterns[0]
	// Layer is the layer of the rule, such as "OrgPolicy acme". It is empty for the agent's own policy.
	Layer string `json:"layer,omitempty"`
}

// Evidence is the part of the action that matched the rule. It has no argument values of bridges.
type Evidence struct {
	Argv   []string `json:"argv,omitempty"`
	Line   int      `json:"line,omitempty"`
	Column int      `json:"column,omitempty"`
	Chain  []string `json:"chain,omitempty"`
}

// PathRule is one file grant or denial. The path is clean and absolute, or starts with $WORKSPACE or ~.
type PathRule struct {
	Path string `json:"path"`
	Rule Rule   `json:"rule"`
	// Within lists the grants of the layers above that cover this grant, compared as text. On the host, the
	// resolved path must also be below the resolved path of each of them.
	Within []string `json:"within,omitempty"`
}
