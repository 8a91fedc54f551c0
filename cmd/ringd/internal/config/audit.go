package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Audit configures the audit log. In the file it may be the word "strict".
type Audit struct {
	Strict bool `yaml:"strict"` // sync every record
	// Archive is the folder for closed segments. If it is empty, the log is not archived.
	Archive string `yaml:"archive"`
	// Keep limits the part that stays in the state folder. The older part is archived.
	Keep Keep `yaml:"keep"`
}

// Keep limits the audit log in the state folder. Zero fields mean no limit.
type Keep struct {
	Bytes Size     `yaml:"bytes"`
	Age   Duration `yaml:"age"` // of records
}

// minKept is the minimum of Keep.Bytes.
const minKept = 1 << 20

// SegmentBytes returns the size of a segment, or 0 for the default. The kept log has at least four segments.
func (a Audit) SegmentBytes() int64 {
	if quarter := int64(a.Keep.Bytes) / 4; quarter < 64<<20 {
		return quarter
	}
	return 0
}

// UnmarshalYAML parses the word or the fields.
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
