package programs_test

import (
	"testing"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command/programs"
)

// TestBlanksInWords: what a program takes for a blank, or for the end of a line, need not be a space.
func TestBlanksInWords(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"ssh", "-N", "-o", "ProxyCommand\tcurl x", "h"}, "no"},
		{[]string{"ssh", "-N", "-o", "\"ProxyCommand\"\tcurl x", "h"}, "no"},
		{[]string{"ssh", "-N", "-o", "ProxyCommand \t= curl x", "h"}, "no"},
		{[]string{"ssh", "-N", "-o", "ProxyCommand\tnone", "h"}, "ok"},
		{[]string{"ssh", "-N", "-o", "ServerAliveInterval\t5", "h"}, "ok"},
		{[]string{"sshfs", "-o", "ProxyCommand\tcurl", "h:", "y"}, "no"},
		{[]string{"wget", "-e", "config\t= f", "u"}, "no"},
		{[]string{"vim", "-c", "%s/a/b/\n!curl x", "-c", "q", "f"}, "no"},
		{[]string{"vim", "-c", "set nu\ncall system('x')", "-c", "q", "f"}, "no"},
		{[]string{"vim", "-c", "%s/a/b/\nwq", "f"}, "ok"},
		{[]string{"less", "+/x\n!curl x\n", "f"}, "no"},
		{[]string{"less", "-p", "x\n!curl x\n", "f"}, "no"},
		{[]string{"less", "-p", "x y", "f"}, "ok"},
		{[]string{"env", "-S", "curl\t#", "x"}, "no"},
	} {
		r := programs.Of(argv.Command{Words: argv.AllKnown(tt.words)})
		if got := outcome(r); got != tt.want {
			t.Errorf("%q\n  starts %s, wanted %s", tt.words, got, tt.want)
		}
	}
}
