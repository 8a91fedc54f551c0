package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Audit says how the audit log is kept. In the file it may be the word "strict".
type Audit struct {
	Strict bool `yaml:"strict"` // sync every record
	// Archive is the folder that closed segments go to; "": the log is not archived.
	Archive string `yaml:"archive"`
	// Keep is what stays in the state folder; what is beyond goes to the archive.
	Keep Keep `yaml:"keep"`
}

// Keep bounds the audit log in the state folder. Zero fields bound nothing.
type Keep struct {
	Bytes Size     `yaml:"bytes"`
	Age   Duration `yaml:"age"` // of records
}

// minKept is the least size of a log that is worth to be named.
const minKept = 1 << 20

// SegmentBytes is the size of a segment; 0: the default. The log that is kept has four
// or more of them.
func (a Audit) SegmentBytes() int64 {
	if quarter := int64(a.Keep.Bytes) / 4; quarter < 64<<20 {
		return quarter
	}
	return 0
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
	switch k := a.Keep; {
	case k != Keep{} && a.Archive == "":
		return errors.New("audit.keep: records are removed only after they are archived: set a folder with " +
			"audit.archive")
	case k.Bytes != 0 && k.Bytes < minKept:
		return fmt.Errorf("audit.keep.bytes: %d bytes is less than 1MiB", k.Bytes)
	case k.Age != 0 && time.Duration(k.Age) < time.Minute:
		return fmt.Errorf("audit.keep.age: %s is less than 1m", time.Duration(k.Age))
	}
	if a.Archive != "" && (!filepath.IsAbs(a.Archive) || filepath.Clean(a.Archive) != a.Archive) {
		return fmt.Errorf("audit.archive: %q is not an absolute, clean path", a.Archive)
	}
	return nil
}
