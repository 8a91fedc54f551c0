package engine

import (
	"fmt"
	"regexp"
	"strings"
)

// bridgePaths splits dotted names of bridges and rejects names that cannot become a function.
func bridgePaths(names []string) ([][]string, error) {
	identifier, err := regexp.Compile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
	if err != nil {
		return nil, fmt.Errorf("engine options: %w", err)
	}
	taken := map[string]bool{} // full names and their namespaces
	paths := make([][]string, 0, len(names))
	for _, name := range names {
		path := strings.Split(name, ".")
		for _, step := range path {
			if len(step) > 128 || path[0] == "inputs" || !identifier.MatchString(step) || reserved(step) {
				return nil, fmt.Errorf("engine options: bridge %.200q is not a dotted path of identifiers", name)
			}
		}
		if len(path) > 8 {
			return nil, fmt.Errorf("engine options: bridge %.200q has more than 8 parts", name)
		}
		if taken[name] {
			return nil, fmt.Errorf("engine options: bridge %q is there twice, or is also a namespace", name)
		}
		taken[name] = true
		paths = append(paths, path)
	}
	for _, path := range paths {
		for i := 1; i < len(path); i++ {
			if space := strings.Join(path[:i], "."); taken[space] {
				return nil, fmt.Errorf("engine options: bridge %q is also a namespace", space)
			}
		}
	}
	return paths, nil
}

// reserved reports words that cannot be the name of a global, and the one key that is not a plain property.
func reserved(s string) bool {
	switch s {
	case "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else",
		"enum", "export", "extends", "false", "finally", "for", "function", "if", "implements", "import", "in",
		"instanceof", "interface", "let", "new", "null", "package", "private", "protected", "public", "return",
		"static",
		"super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with", "yield",
		"__proto__":
		return true
	}
	return false
}
