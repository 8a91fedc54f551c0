// Package config owns what the operator says: the daemon's config file and the
// environment. It is the only reader of the environment, and the only one of
// the file's YAML.
//
// It refuses unknown fields, repeated keys, relative paths, durations and
// sizes that are not, and roles that would let a harness approve. The command
// line calls it; flags win over the file.
package config
