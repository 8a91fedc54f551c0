// Package pyguest is the half of the Python executor that runs in the guest's process, which is CPython itself:
// its source text, the text that compiles it for one interpreter, and the text that starts it. Nothing of it
// runs in the daemon.
//
// The guard in the text denies first and says why. It runs in one process with the program, which can get
// around it. The kernel ring is the boundary.
package pyguest

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strings"
)

// Launcher is the text for the option -c of an interpreter. It reads the first frame
// from descriptor 3, executors.Hello with the settings that start.Hello makes, and
// runs the byte code in them. It says nothing of the policy.
//
//go:embed launch.py
var Launcher string

// Compiler is the text for the option -c of an interpreter that makes the byte code:
// it reads Source from descriptor 3, behind its length (4 bytes, big endian), and writes
// the code to descriptor 4, behind its length.
//
//go:embed compile.py
var Compiler string

//go:embed py/seal.py
var sealText string

//go:embed py/frames.py
var framesText string

//go:embed py/values.py
var valuesText string

//go:embed py/bridge.py
var bridgeText string

//go:embed py/report.py
var reportText string

//go:embed py/traceback.py
var tracebackText string

//go:embed py/policy.py
var policyText string

//go:embed py/audit.py
var auditText string

//go:embed py/profiler.py
var profilerText string

//go:embed py/guard.py
var guardText string

//go:embed py/main.py
var mainText string

// Source is the text of the guest for Compiler: the name and the text of each file, all separated by a zero
// byte, in the order in which they run. Each file can use the names of those before it.
func Source() []byte {
	return []byte(strings.Join([]string{
		"seal", sealText,
		"frames", framesText,
		"values", valuesText,
		"bridge", bridgeText,
		"report", reportText,
		"traceback", tracebackText,
		"policy", policyText,
		"audit", auditText,
		"profiler", profilerText,
		"guard", guardText,
		"main", mainText,
	}, "\x00"))
}

// Digest is that of Source: byte code with another digest is of another guest.
func Digest() string {
	sum := sha256.Sum256(Source())
	return "sha256:" + hex.EncodeToString(sum[:])
}
