package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaths(t *testing.T) {
	tests := []struct {
		name  string
		names []string
		want  [][]string
		err   string
	}{
		{"one", []string{"search"}, [][]string{{"search"}}, ""},
		{"spaces", []string{"tools.search", "tools.read"}, [][]string{{"tools", "search"}, {"tools", "read"}}, ""},
		{"twice", []string{"a", "a"}, nil, "there twice"},
		{"a space too", []string{"a", "a.b"}, nil, "also a namespace"},
		{"empty", []string{""}, nil, "dotted path"},
		{"empty step", []string{"a..b"}, nil, "dotted path"},
		{"inputs", []string{"inputs"}, nil, "dotted path"},
		{"keyword", []string{"tools.await"}, nil, "dotted path"},
		{"prototype", []string{"a.__proto__"}, nil, "dotted path"},
		{"code", []string{"a;b()"}, nil, "dotted path"},
		{"long", []string{strings.Repeat("a", 129)}, nil, "dotted path"},
		{"deep", []string{strings.Repeat("a.", 8) + "a"}, nil, "more than 8 parts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := bridgePaths(tt.names)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if (tt.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v, want %q", err, tt.err)
			}
		})
	}
}
