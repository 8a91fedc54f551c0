package layers

import "github.com/ringd/ringd/profiles/fields"

// MergeBy merges by another table of fields.
func MergeBy(table []fields.Field, cfg Config) Merged { return merge(cfg, table) }

// HasCode reports whether a field is merged by code of its own.
func HasCode(field string) bool { return specials()[field] != nil }
