// This file owns the table of programs whose operands are a command: env,
// xargs, find, timeout and their like. [Of] asks it.

package programs

// The table: programs by what they are for. Rows are read by the engine in
// engine.go, whose row says what the letters mean. A program that starts nothing
// by its words has no row.

// runningRows are programs whose operands are a command.
func runningRows(name string) (row, bool) {
	switch name {
	case "nice":
		return row{Opts: "-n,--adjustment= --help,--version~ -0 -1 -2 -3 -4 -5 -6 -7 -8 -9", Rest: Command}, true
	case "ionice":
		return row{Opts: "-c,--class= -n,--classdata= -p,--pid=~ -P,--pgid=~ -u,--uid=~ -t,--ignore -h,--help,-V,--version~", Rest: Command}, true
	case "chrt":
		return row{Opts: "-a,--all-tasks -b,--batch -d,--deadline -f,--fifo -i,--idle -o,--other -r,--rr -R,--reset-on-fork -T,--sched-runtime= -P,--sched-period= -D,--sched-deadline= -m,--max~ -p,--pid~ -v,--verbose -h,--help,-V,--version~", Rest: Command, Skip: 1}, true
	case "taskset":
		return row{Opts: "-a,--all-tasks -c,--cpu-list -p,--pid~ -h,--help,-V,--version~", Rest: Command, Skip: 1}, true
	case "nohup", "catchsegv", "eatmydata", "chronic", "dbus-run-session", "tini", "dumb-init", "ifne", "gamemoderun", "nocache":
		return row{Opts: "-v -g -n -l= -b= --config-file=! --dbus-daemon=! -h,--help,-V,--version~", Rest: Command}, true
	case "setsid":
		return row{Opts: "-c,--ctty -f,--fork -w,--wait -h,--help,-V,--version~", Rest: Command}, true
	case "time", "gtime", "multitime":
		return row{Opts: "-p,--portability -v,--verbose -a,--append -q,--quiet -f,--format= -o,--output= -n= -l -h,--help,-V,--version~", Rest: Command}, true
	case "unbuffer", "torsocks", "tsocks", "torify", "proxychains", "proxychains4", "caffeinate", "rlwrap":
		return row{Opts: "-p -q -i -d -m -s -u -t= -w= -c -r -f=! -h,--help,-v,--version~", Rest: Command}, true
	case "stdbuf":
		return row{Opts: "-i,--input= -o,--output= -e,--error= --help,--version~", Rest: Command}, true
	case "timeout", "gtimeout":
		return row{Opts: "-k,--kill-after= -s,--signal= -v,--verbose -f,--foreground -p,--preserve-status --help,--version~", Rest: Command, Skip: 1}, true
	case "cpulimit":
		return row{Opts: "-l,--limit= -e,--exe= -p,--pid= -P,--path= -b,--background -f,--foreground -i,--include-children -z,--lazy -k,--kill -m,--monitor-forks -q,--quiet -v,--verbose -h,--help~", Rest: Command}, true
	case "faketime", "datefudge":
		return row{Opts: "-s,--static -m -f --exclude-monotonic -p= -h,--help,-v,--version~", Rest: Command, Skip: 1}, true
	case "cgexec":
		return row{Opts: "-g= --sticky -h,--help~", Rest: Command}, true
	case "prlimit":
		return row{Opts: "-p,--pid=~ -o,--output= --noheadings --raw --verbose -h,--help,-V,--version~ -c,--core? -d,--data? -e,--nice? -f,--fsize? -i,--sigpending? -l,--memlock? -m,--rss? -n,--nofile? -q,--msgqueue? -r,--rtprio? -s,--stack? -t,--cpu? -u,--nproc? -v,--as? -x,--locks? -y,--rttime?", Rest: Command}, true
	case "setpriv":
		return row{Opts: "-d,--dump~ --clear-groups --keep-groups --init-groups --groups= --inh-caps= --ambient-caps= --bounding-set= --list-caps~ --nnp,--no-new-privs --rgid= --egid= --regid= --ruid= --euid= --reuid= --securebits= --pdeathsig= --ptracer= --selinux-label= --apparmor-profile= --landlock-access= --landlock-rule= --seccomp-filter= --reset-env -h,--help,-V,--version~", Rest: Command}, true
	case "unshare":
		return row{Opts: "-i,--ipc? -m,--mount? -n,--net? -p,--pid? -u,--uts? -U,--user? -C,--cgroup? -T,--time? -f,--fork --mount-proc? --mount-binfmt? -r,--map-root-user -c,--map-current-user --map-auto --map-user= --map-group= --map-users= --map-groups= --propagation= --setgroups= -R,--root= -w,--wd= -S,--setuid= -G,--setgid= --kill-child? --keep-caps --monotonic= --boottime= -l,--load-interp=! -h,--help,-V,--version~", Rest: Command, Flags: bareShell}, true
	case "nsenter":
		return row{Opts: "-a,--all -t,--target= -m,--mount? -u,--uts? -i,--ipc? -n,--net? -p,--pid? -C,--cgroup? -U,--user? -T,--time? -S,--setuid? -G,--setgid? --preserve-credentials -r,--root? -w,--wd? -W,--wdns? -e,--env -F,--no-fork -Z,--follow-context -N,--net-socket= --keep-caps --user-parent -c,--join-cgroup -h,--help,-V,--version~", Rest: Command, Flags: bareShell}, true
	case "chroot":
		return row{Opts: "--groups= --userspec= --skip-chdir --help,--version~", Rest: Command, Skip: 1, Flags: bareShell}, true
	case "valgrind", "heaptrack":
		return row{Opts: "--tool= --leak-check? --show-leak-kinds? --track-origins? --error-exitcode? --log-file? --suppressions? --gen-suppressions? --trace-children? --vgdb? --num-callers? --xml? --xml-file? -q,--quiet -v,--verbose -s --child-silent-after-fork? -h,--help,--version~", Rest: Command}, true
	case "strace":
		return row{Opts: "-A -a,--columns= -b,--detach-on= -C,--summary -c,--summary-only -D,--daemonize? -d,--debug -E,--env=v -e,--trace,--expr= -F -f,--follow-forks? --output-separately -I,--interruptible= -i,--instruction-pointer -k,--stack-trace? -n,--syscall-number -N,--arg-names -O,--summary-syscall-overhead= -o,--output=| -P,--trace-path= -p,--attach= -q,--quiet? -r,--relative-timestamps? -S,--summary-sort-by= -s,--string-limit= -T,--syscall-times? -t --absolute-timestamps? -U,--summary-columns= -u,--user= -v,--no-abbrev -W -w,--summary-wall-clock -X,--const-print-style= -x --strings-in-hex? -y --decode-fds? -Y --decode-pids? -z,--successful-only -Z,--failed-only --argv0= --kill-on-exit --seccomp-bpf --status= --signal= --tips? -h,--help,-V,--version~", Rest: Command}, true
	case "ltrace":
		return row{Opts: "-a,--align= -A= -b,--no-signals -c -C,--demangle -D,--debug= -e= -f -F,--config=! -h,--help,-V,--version~ -i -l,--library= -L -n,--indent= -o,--output=| -p= -r -s= -S -t -T -u= -w,--where= -x=", Rest: Command}, true
	case "numactl":
		return row{Opts: "-a,--all -i,--interleave= -m,--membind= -N,--cpunodebind= -C,--physcpubind= -l,--localalloc -p,--preferred= -b,--balancing -s,--show,-H,--hardware~", Rest: Command}, true
	case "xvfb-run":
		return row{Opts: "-a,--auto-servernum -e,--error-file= -f,--auth-file= -l,--listen-tcp -n,--server-num= -p,--xauth-protocol= -s,--server-args= -w,--wait= -h,--help~", Rest: Command}, true
	case "pkexec":
		return row{Opts: "-u,--user= --disable-internal-agent --keep-cwd --help,--version~", Rest: Command, Flags: bareShell}, true
	case "gosu", "su-exec", "setuidgid", "envuidgid", "setlock", "lckdo", "logsave", "fakeroot", "trickle", "ssh-agent", "dbus-launch", "softlimit", "chpst", "s6-setuidgid", "direnv":
		return wrapperRows(name)
	case "firejail", "bwrap", "proot", "unionfs", "nix-shell", "guix", "nix", "flatpak", "snap", "distrobox", "toolbox", "machinectl", "lxc", "lxc-attach", "lxc-execute", "vagrant", "multipass", "wsl", "qemu-x86_64", "qemu-aarch64", "qemu-arm", "wine", "qemu-system-x86_64", "qemu-system-i386", "qemu-system-aarch64", "qemu-system-arm", "qemu-system-riscv64", "kvm", "crun", "runc":
		return row{Own: Always("it runs programs in a world of its own, where nobody decides what starts")}, true
	case "systemd-run":
		return row{Opts: "--no-ask-password --scope -u,--unit= -p,--property=! --description= --slice= --slice-inherit --expand-environment= -r,--remain-after-exit --send-sighup --service-type= --uid= --gid= --nice= --working-directory= -d,--same-dir -E,--setenv=! -t,--pty -P,--pipe -S,--shell! -q,--quiet -G,--collect --wait --no-block --on-active=! --on-boot=! --on-startup=! --on-unit-active=! --on-unit-inactive=! --on-calendar=! --on-clock-change! --on-timezone-change! --path-property=! --socket-property=! --timer-property=! --user --system -H,--host=! -M,--machine=! -h,--help,--version~", Rest: Command}, true
	case "start-stop-daemon", "daemonize", "daemon", "run-one", "run-this-one", "keep-one-running", "svc", "runsv", "runsvdir", "supervisord", "supervisorctl", "pm2", "forever", "monit", "runit", "initctl":
		return row{Own: Always("it starts programs that outlive the script")}, true
	case "env":
		return row{Own: ownRunning(readEnv), Opts: "-i,--ignore-environment -0,--null -u,--unset= -C,--chdir= -S,--split-string= -v,--debug --block-signal? --default-signal? --ignore-signal? --list-signal-handling -a,--argv0=! -P=! -L=! -U=! --help,--version~"}, true
	case "xargs", "gxargs":
		return row{Own: ownRunning(readXargs), Opts: "-0,--null -a,--arg-file= -d,--delimiter= -E= -e,--eof? -I= -i,--replace? -J= -L= -l,--max-lines? -n,--max-args= -P,--max-procs= -o,--open-tty -p,--interactive -R= -r,--no-run-if-empty -S= -s,--max-chars= --process-slot-var= --show-limits -t,--verbose -x,--exit --help,--version~"}, true
	case "sudo", "doas":
		return row{Own: ownRunning(readSudo), Opts: "-A,--askpass! -B,--bell -b,--background -C,--close-from= -c= -D,--chdir= -E,--preserve-env? -e,--edit! -g,--group= -H,--set-home -h,--host= --help,-V,--version,-v,--validate,-l,--list,-K,--remove-timestamp~ -i,--login! -k,--reset-timestamp -N,--no-update -n,--non-interactive -P,--preserve-groups -p,--prompt= -R,--chroot=! -r,--role= -S,--stdin -s,--shell! -T,--command-timeout= -t,--type= -U,--other-user= -u,--user="}, true
	case "su":
		return row{Own: ownRunning(readSu), Opts: "-c,--command=s --session-command=s -,-l,--login -f,--fast -g,--group= -G,--supp-group= -m,-p,--preserve-environment -P,--pty -T,--no-pty -s,--shell=! -w,--whitelist-environment= -h,--help,-V,--version~"}, true
	case "runuser":
		return row{Own: ownRunning(readSu), Opts: "-u,--user=u -c,--command=s --session-command=s -l,--login -f,--fast -g,--group= -G,--supp-group= -m,-p,--preserve-environment -P,--pty -s,--shell=! -w,--whitelist-environment= -h,--help,-V,--version~"}, true
	case "setarch", "linux64", "linux32", "i386", "i686", "x86_64", "aarch64", "uname26":
		return row{Own: ownRunning(readSetarch), Opts: "-B,--32bit -F,--fdpic-funcptrs -I,--short-inode -L,--addr-compat-layout -R,--addr-no-randomize -S,--whole-seconds -T,--sticky-timeouts -X,--read-implies-exec -Z,--mmap-page-zero -3,--3gb --4gb --uname-2.6 -v,--verbose -p= -h,--help,-V,--version,--list~"}, true
	default:
		return rowsRunningToo(name)
	}
}

// wrapperRows are Rows that are rare.
func wrapperRows(name string) (row, bool) {
	switch name {
	case "fakeroot":
		return row{Opts: "-l,--lib=! --faked=! -s= -i= -u,--unknown-is-real -b,--fd-base= -h,--help,-V,-v,--version~", Rest: Command, Flags: bareShell}, true
	case "trickle":
		return row{Opts: "-d= -u= -w= -t= -l= -n= -p= -s -v -L=! -P=! -h,-V~", Rest: Command}, true
	case "setlock", "lckdo", "logsave":
		return row{Opts: "-n -N -x -X -w -W= -e -E= -q -s -t -a -v", Rest: Command, Skip: 1}, true
	case "gosu", "su-exec", "s6-setuidgid", "setuidgid", "envuidgid":
		return row{Opts: "-s --help,--version~", Rest: Command, Skip: 1}, true
	case "ssh-agent":
		return row{Opts: "-a= -t= -E= -O= -P=! -c -s -D -d -k~", Rest: Command}, true
	case "dbus-launch":
		return row{Opts: "--auto-syntax --binary-syntax --close-stderr --exit-with-session? --autolaunch= --sh-syntax --csh-syntax --config-file=! --version~", Rest: Command}, true
	case "softlimit":
		return row{Opts: "-a= -c= -d= -f= -l= -m= -o= -p= -r= -s= -t=", Rest: Command}, true
	case "chpst":
		return row{Opts: "-u= -U= -b=! -e=! -/=! -C= -n= -l= -L= -m= -d= -o= -p= -f= -c= -t= -v -P -0 -1 -2", Rest: Command}, true
	case "direnv":
		return row{Own: ownRunning(readDirenv)}, true
	default:
		return row{}, false
	}
}

// rowsRunningToo are the rest of Rows: those that read text as well, and
// those with a word in front of the command.
func rowsRunningToo(name string) (row, bool) {
	switch name {
	case "watch":
		return row{Own: ownRunning(readWatch), Opts: "-b,--beep -c,--color -C,--no-color -d,--differences? -e,--errexit -f,--follow -g,--chgexit -q,--equexit= -n,--interval= -p,--precise -r,--no-rerun -s,--shotsdir= -t,--no-title -w,--no-wrap -x,--exec -h,--help,-v,--version~"}, true
	case "script":
		return row{Own: ownRunning(readScript), Opts: "-a,--append -c,--command=s -E,--echo= -e,--return -f,--flush -I,--log-in= -O,--log-out= -B,--log-io= -T,--log-timing= -m,--logging-format= -o,--output-limit= -q,--quiet -t,--timing? -F= -k -p~ -h,--help,-V,--version~"}, true
	case "flock":
		return row{Own: ownRunning(readFlock), Opts: "-s,--shared -x,-e,--exclusive -u,--unlock -n,--nb,--nonblock -w,--wait,--timeout= -o,--close -E,--conflict-exit-code= -F,--no-fork --fcntl --start= --length= -c,--command=s --verbose -h,--help,-V,--version~"}, true
	case "busybox", "toybox":
		return row{Own: ownRunning(readBusybox)}, true
	case "find", "gfind":
		return row{Own: ownRunning(readFind)}, true
	case "fd", "fdfind":
		return row{Own: ownRunning(readFd)}, true
	case "parallel":
		return row{Own: ownRunning(readParallel)}, true
	case "sem", "env_parallel", "parset":
		return row{Own: Always("what it runs is put together by the program; use a loop, or parallel")}, true
	case "entr":
		return row{Own: ownRunning(readEntr), Opts: "-a -c -d -n -p -r -s -x -z -h~"}, true
	case "hyperfine":
		return row{Opts: "-w,--warmup= -m,--min-runs= -M,--max-runs= -r,--runs= -s,--setup=s -p,--prepare=s -C,--conclude=s -c,--cleanup=s -P,--parameter-scan= -D,--parameter-step-size= -L,--parameter-list= -S,--shell=! -N -i,--ignore-failure --style= --sort= -u,--time-unit= --export-asciidoc= --export-csv= --export-json= --export-markdown= --export-orgmode= --show-output --output= --input= -n,--command-name= -h,--help,-V,--version~", Own: ownRunning(readTexts)}, true
	case "pee", "mispipe":
		return row{Own: ownRunning(readTexts)}, true
	case "sg":
		return row{Own: ownRunning(readSg)}, true
	case "newgrp", "login", "agetty", "getty", "sulogin", "chsh", "screen", "byobu", "zellij", "ttyd", "gotty", "tmate", "abduco", "dtach":
		return row{Own: ownRunning(readTerminal)}, true
	case "tmux":
		return row{Own: ownRunning(readTmux)}, true
	case "gdb", "cgdb", "lldb":
		return row{Own: ownRunning(readDebugger)}, true
	case "perf":
		return row{Own: ownRunning(readPerf)}, true
	case "capsh":
		return row{Own: ownRunning(readCapsh)}, true
	case "exec", "builtin", "command", "eval", "source", "trap":
		return row{}, false // programs of these names are none
	case "run-parts":
		return row{Opts: "--test~ --list~ --verbose --report --lsbsysinit --regex= -a,--arg= -u,--umask= --new-session --reverse --exit-on-error --help,--version~", Own: Always("it runs every file of a folder")}, true
	case "xdg-open", "open", "sensible-browser", "sensible-editor", "sensible-pager", "x-www-browser", "editor", "pager", "see", "run-mailcap", "edit", "compose", "x-terminal-emulator", "xterm", "gnome-terminal", "konsole", "alacritty", "kitty":
		return row{Own: Always("it starts the program that the system has set for it")}, true
	case "memusage", "sotruss", "ldd", "xtrace", "uftrace", "trace-cmd", "rr", "samply", "py-spy", "scriptlive":
		return row{Own: Always("it runs the program that it looks at")}, true
	default:
		return rare(name)
	}
}
