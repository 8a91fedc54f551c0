package command

import "github.com/ringd/ringd/profiles/argv"

// Variables reports what is wrong with a table of variables. If text is empty, the table is the
// embedded one.
func Variables(text string) error {
	if text == "" {
		text = variablesText
	}
	_, err := parseVariables(text)
	return err
}

// VariableOf is VariableRefused by another table.
func VariableOf(text, name, value string) (refused bool) {
	t, err := parseVariables(text)
	if err != nil {
		return true
	}
	why, h := t.find(name)
	return why != "" && (h == nil || !h.allows(argv.Known(value).Text))
}

// VariablesText is the embedded table.
func VariablesText() string { return variablesText }
