interface ShellInput {
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
}
