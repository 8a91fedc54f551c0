package runner

import (
	"slices"
	"strconv"
	"strings"
)

// kill sends a signal to jobs of the script. It cannot reach other processes: numbers other than $! are no
// jobs.
func kill(args []string, s builtinShell) uint8 {
	signal := 15
	// one signal; the other words are targets
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		a := args[0]
		args = args[1:]
		switch {
		case a == "--":
		case a == "-l" || a == "-L":
			return s.print(strings.Join(signals()[1:], " ") + "\n")
		case (a == "-s" || a == "-n") && len(args) > 0:
			if signal = signalOf(args[0]); signal < 0 {
				return s.fail(1, "kill: %s: invalid signal specification", args[0])
			}
			args = args[1:]
		default:
			if signal = signalOf(a[1:]); signal < 0 {
				return s.fail(1, "kill: %s: invalid signal specification", a[1:])
			}
		}
	}
	if len(args) > 1 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return s.fail(2, "kill: usage: kill [-s sigspec | -n signum | -sigspec] jobspec ...")
	}
	exit := uint8(0)
	for _, target := range args {
		if !s.Kill(target, signal) {
			exit = s.fail(1, "kill: (%s) - No such process", target)
		}
	}
	return exit
}

func signals() []string {
	return []string{
		"EXIT", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
		"ALRM", "TERM",
	}
}

// signalOf parses the name or number of a signal. It returns -1 if there is no such signal.
func signalOf(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 0 || n > 64 {
			return -1
		}
		return n
	}
	return slices.Index(signals(), strings.TrimPrefix(strings.ToUpper(text), "SIG"))
}
