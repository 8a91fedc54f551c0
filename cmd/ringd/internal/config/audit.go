package config

import (
	"fmt"
	"path/filepath"
)

// Audit says how the audit log is kept. In the file it may be the word "strict".
type Audit struct {
	Strict bool `yaml:"strict"` // sync every record
	// Archive is the folder that closed segments go to; "": the log is not archived.
	Archive string `yaml:"archive"`
}

// UnmarshalYAML reads the word, or the fields.
func (a *Audit) UnmarshalYAML(decode func(any) error) error {
	var word string
	if decode(&word) == nil {
		if word != "strict" {
			return fmt.Errorf(`audit: %q: want "strict", fields, or leave it out`, word)
		}
		*a = Audit{Strict: true}
		return nil
	}
	type fields Audit
	return decode((*fields)(a))
}

func (a Audit) check() error {
	if a.Archive != "" && (!filepath.IsAbs(a.Archive) || filepath.Clean(a.Archive) != a.Archive) {
		return fmt.Errorf("audit.archive: %q is not an absolute, clean path", a.Archive)
	}
	return nil
}
