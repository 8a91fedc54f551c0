package programs

// readerNamed returns the code that a row of programs.txt names as its reader, or nil.
func readerNamed(name string) func(*reader) {
	switch name {
	case "alias":
		return readAlias
	case "behind-dashes":
		return readBehindDashes
	case "busybox":
		return readBusybox
	case "capsh":
		return readCapsh
	case "cloud":
		return readCloud
	case "command":
		return readCommand
	case "container":
		return readContainer
	case "debugger":
		return readDebugger
	case "direnv":
		return readDirenv
	case "entr":
		return readEntr
	case "env":
		return readEnv
	case "eval":
		return readEval
	case "exec":
		return readExec
	case "fc":
		return readFc
	case "fd":
		return readFd
	case "find":
		return readFind
	case "flock":
		return readFlock
	case "ip":
		return readIP
	case "jobs":
		return readJobs
	case "later":
		return readLater
	case "parallel":
		return readParallel
	case "perf":
		return readPerf
	case "runcon":
		return readRuncon
	case "script":
		return readScript
	case "setarch":
		return readSetarch
	case "sg":
		return readSg
	case "source":
		return readSource
	case "ssh":
		return readSSH
	case "su":
		return readSu
	case "sudo":
		return readSudo
	case "tmux":
		return readTmux
	case "trap":
		return readTrap
	case "watch":
		return readWatch
	case "xargs":
		return readXargs
	default:
		return toolReaderNamed(name)
	}
}

// toolReaderNamed returns the code of tools, and of programs that have a language of their own, build
// or install.
func toolReaderNamed(name string) func(*reader) {
	switch name {
	case "netcat":
		return readNetcat
	case "pager":
		return readPager
	case "socat":
		return readSocat
	case "tar":
		return readTar
	case "zip":
		return readZip
	case "awk":
		return readAwk
	case "bun":
		return readBun
	case "cargo":
		return readCargo
	case "cmake":
		return readCMake
	case "deno":
		return readDeno
	case "ed":
		return readEd
	case "ftp":
		return readFtp
	case "git":
		return readGit
	case "git-bisect":
		return readGitBisect
	case "git-config":
		return readGitConfig
	case "git-submodule":
		return readGitSubmodule
	case "go":
		return readGo
	case "language":
		return readLanguage
	case "make":
		return readMake
	case "npm":
		return readNpm
	case "npx":
		return readNpx
	case "packages":
		return readPackages
	case "perl":
		return readPerl
	case "python":
		return readPython
	case "rails":
		return readRails
	case "rename":
		return readRename
	case "scripted":
		return readScripted
	case "sed":
		return readSed
	case "shell":
		return readShell
	case "vim":
		return readVim
	case "words":
		return readWords
	default:
		return nil
	}
}
