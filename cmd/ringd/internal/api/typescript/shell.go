package typescript

// shellName is the bridge that runs a script on the shell executor; see docs/API.md.
const shellName = "shell"

// shellTypes are the types of shell.
const shellTypes = `interface ShellInput {
  script: string;
  stdin?: string;
  /** Scripts with the same name share folder, variables and functions. */
  session?: string;
  /** An absolute path. */
  cwd?: string;
}
interface ShellResult {
  stdout: string;
  stderr: string;
  exit_code: number;
  /** The programs that were started, the first of them. */
  ran: string[][];
  /** Bytes of output that are missing. */
  dropped_bytes?: number;
  /** Why the state of the session was not kept. */
  session_error?: string;
}`

// shell writes the declaration of shell. Schemas of the policy replace its types.
func (w *writer) shell(note string) {
	w.line(0, "")
	w.taken["ShellInput"], w.taken["ShellResult"] = true, true
	w.line(0, "%s", shellTypes)
	w.function([]string{shellName}, "(input: ShellInput | string): Promise<ShellResult>",
		"A refused script throws CapabilityDenied; one that fails by itself has an exit code. "+note)
}
