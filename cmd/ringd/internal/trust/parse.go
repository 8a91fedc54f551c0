package trust

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Named is a role as in a configuration. Each key is a line of [KeyLine], or the path of a file for
// [ReadPublicKey].
type Named struct {
	Keys      []string
	Threshold int
}

// ParseRoots reads the keys of roles and returns the roots.
func ParseRoots(roles map[string]Named) (*Roots, error) {
	out := map[string]Role{}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		role := Role{Threshold: roles[name].Threshold}
		for _, text := range roles[name].Keys {
			key, err := parseKey(text)
			if err != nil {
				return nil, fmt.Errorf("trust.roles.%s: %w", name, err)
			}
			role.Keys = append(role.Keys, key)
		}
		out[name] = role
	}
	return NewRoots(out)
}

func parseKey(text string) (ed25519.PublicKey, error) {
	if strings.HasPrefix(text, keyPrefix) {
		return parseKeyLine(text)
	}
	return ReadPublicKey(text)
}
