// Package config owns the operator's configuration: the daemon's config file and the environment. It is the
// only reader of the environment, and of the file's YAML.
//
// It refuses unknown fields, repeated keys, relative paths, invalid durations and sizes, and roles that would
// let a harness approve. The command line calls it, and flags override the file.
package config
