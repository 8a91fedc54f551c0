package typescript

import (
	_ "embed"
	"strings"
)

// shellName is the bridge that runs a script on the shell executor; see docs/API.md.
const shellName = "shell"

// shellTypes are the types of shell.
//
//go:embed shell.d.ts
var shellTypes string // go:embed needs a variable; never written

// shell writes the declaration of shell. Schemas of the policy replace its types.
func (w *writer) shell(note string) {
	w.line(0, "")
	w.taken["ShellInput"], w.taken["ShellResult"] = true, true
	w.line(0, "%s", strings.TrimSpace(shellTypes))
	w.function([]string{shellName}, "(input: ShellInput | string): Promise<ShellResult>",
		"A refused script throws CapabilityDenied; one that fails by itself has an exit code. "+note)
}
