package launch

// The table: programs by what they are for. Rows are read by the engine in
// engine.go, whose row says what the letters mean. A program that starts nothing
// by its words has no row.

// rowsRunning are programs whose operands are a command.
func rowsRunning(name string) (row, bool) {
	switch name {
	case "nice":
		return row{opts: "-n,--adjustment= --help,--version~ -0 -1 -2 -3 -4 -5 -6 -7 -8 -9", rest: command}, true
	case "ionice":
		return row{opts: "-c,--class= -n,--classdata= -p,--pid=~ -P,--pgid=~ -u,--uid=~ -t,--ignore -h,--help,-V,--version~", rest: command}, true
	case "chrt":
		return row{opts: "-a,--all-tasks -b,--batch -d,--deadline -f,--fifo -i,--idle -o,--other -r,--rr -R,--reset-on-fork -T,--sched-runtime= -P,--sched-period= -D,--sched-deadline= -m,--max~ -p,--pid~ -v,--verbose -h,--help,-V,--version~", rest: command, skip: 1}, true
	case "taskset":
		return row{opts: "-a,--all-tasks -c,--cpu-list -p,--pid~ -h,--help,-V,--version~", rest: command, skip: 1}, true
	case "nohup", "fakeroot", "catchsegv", "eatmydata", "chronic", "dbus-run-session", "tini", "dumb-init", "ifne", "gamemoderun", "nocache":
		return row{opts: "-v -g -n -l= -b= --config-file=! --dbus-daemon=! -h,--help,-V,--version~", rest: command}, true
	case "setsid":
		return row{opts: "-c,--ctty -f,--fork -w,--wait -h,--help,-V,--version~", rest: command}, true
	case "time", "gtime", "multitime":
		return row{opts: "-p,--portability -v,--verbose -a,--append -q,--quiet -f,--format= -o,--output= -n= -l -h,--help,-V,--version~", rest: command}, true
	case "unbuffer", "torsocks", "tsocks", "torify", "proxychains", "proxychains4", "caffeinate", "rlwrap":
		return row{opts: "-p -q -i -d -m -s -u -t= -w= -c -r -f=! -h,--help,-v,--version~", rest: command}, true
	case "stdbuf":
		return row{opts: "-i,--input= -o,--output= -e,--error= --help,--version~", rest: command}, true
	case "timeout", "gtimeout":
		return row{opts: "-k,--kill-after= -s,--signal= -v,--verbose -f,--foreground -p,--preserve-status --help,--version~", rest: command, skip: 1}, true
	case "cpulimit":
		return row{opts: "-l,--limit= -e,--exe= -p,--pid= -P,--path= -b,--background -f,--foreground -i,--include-children -z,--lazy -k,--kill -m,--monitor-forks -q,--quiet -v,--verbose -h,--help~", rest: command}, true
	case "faketime":
		return row{opts: "-m -f --exclude-monotonic -p= -h,--help,-v,--version~", rest: command, skip: 1}, true
	case "cgexec":
		return row{opts: "-g= --sticky -h,--help~", rest: command}, true
	case "prlimit":
		return row{opts: "-p,--pid=~ -o,--output= --noheadings --raw --verbose -h,--help,-V,--version~ -c,--core? -d,--data? -e,--nice? -f,--fsize? -i,--sigpending? -l,--memlock? -m,--rss? -n,--nofile? -q,--msgqueue? -r,--rtprio? -s,--stack? -t,--cpu? -u,--nproc? -v,--as? -x,--locks? -y,--rttime?", rest: command}, true
	case "setpriv":
		return row{opts: "-d,--dump~ --clear-groups --keep-groups --init-groups --groups= --inh-caps= --ambient-caps= --bounding-set= --list-caps~ --nnp,--no-new-privs --rgid= --egid= --regid= --ruid= --euid= --reuid= --securebits= --pdeathsig= --ptracer= --selinux-label= --apparmor-profile= --landlock-access= --landlock-rule= --seccomp-filter= --reset-env -h,--help,-V,--version~", rest: command}, true
	case "unshare":
		return row{opts: "-i,--ipc? -m,--mount? -n,--net? -p,--pid? -u,--uts? -U,--user? -C,--cgroup? -T,--time? -f,--fork --mount-proc? --mount-binfmt? -r,--map-root-user -c,--map-current-user --map-auto --map-user= --map-group= --map-users= --map-groups= --propagation= --setgroups= -R,--root= -w,--wd= -S,--setuid= -G,--setgid= --kill-child? --keep-caps --monotonic= --boottime= -l,--load-interp=! -h,--help,-V,--version~", rest: command, flags: bareShell}, true
	case "nsenter":
		return row{opts: "-a,--all -t,--target= -m,--mount? -u,--uts? -i,--ipc? -n,--net? -p,--pid? -C,--cgroup? -U,--user? -T,--time? -S,--setuid? -G,--setgid? --preserve-credentials -r,--root? -w,--wd? -W,--wdns? -e,--env -F,--no-fork -Z,--follow-context -N,--net-socket= --keep-caps --user-parent -c,--join-cgroup -h,--help,-V,--version~", rest: command, flags: bareShell}, true
	case "chroot":
		return row{opts: "--groups= --userspec= --skip-chdir --help,--version~", rest: command, skip: 1, flags: bareShell}, true
	case "valgrind", "heaptrack":
		return row{opts: "--tool= --leak-check? --show-leak-kinds? --track-origins? --error-exitcode? --log-file? --suppressions? --gen-suppressions? --trace-children? --vgdb? --num-callers? --xml? --xml-file? -q,--quiet -v,--verbose -s --child-silent-after-fork? -h,--help,--version~", rest: command}, true
	case "strace":
		return row{opts: "-A -a,--columns= -b,--detach-on= -C,--summary -c,--summary-only -D,--daemonize? -d,--debug -E,--env= -e,--trace,--expr= -F -f,--follow-forks? --output-separately -I,--interruptible= -i,--instruction-pointer -k,--stack-trace? -n,--syscall-number -N,--arg-names -O,--summary-syscall-overhead= -o,--output=| -P,--trace-path= -p,--attach=~ -q,--quiet? -r,--relative-timestamps? -S,--summary-sort-by= -s,--string-limit= -T,--syscall-times? -t --absolute-timestamps? -U,--summary-columns= -u,--user= -v,--no-abbrev -W -w,--summary-wall-clock -X,--const-print-style= -x --strings-in-hex? -y --decode-fds? -Y --decode-pids? -z,--successful-only -Z,--failed-only --argv0= --kill-on-exit --seccomp-bpf --status= --signal= --tips? -h,--help,-V,--version~", rest: command}, true
	case "ltrace":
		return row{opts: "-a,--align= -A= -b,--no-signals -c -C,--demangle -D,--debug= -e= -f -F,--config=! -h,--help,-V,--version~ -i -l,--library= -L -n,--indent= -o,--output=| -p=~ -r -s= -S -t -T -u= -w,--where= -x=", rest: command}, true
	case "numactl":
		return row{opts: "-a,--all -i,--interleave= -m,--membind= -N,--cpunodebind= -C,--physcpubind= -l,--localalloc -p,--preferred= -b,--balancing -s,--show,-H,--hardware~", rest: command}, true
	case "xvfb-run":
		return row{opts: "-a,--auto-servernum -e,--error-file= -f,--auth-file= -l,--listen-tcp -n,--server-num= -p,--xauth-protocol= -s,--server-args= -w,--wait= -h,--help~", rest: command}, true
	case "pkexec":
		return row{opts: "-u,--user= --disable-internal-agent --keep-cwd --help,--version~", rest: command, flags: bareShell}, true
	case "gosu", "su-exec", "ssh-agent", "dbus-launch", "softlimit", "chpst", "s6-setuidgid", "direnv":
		return wrapperRows(name)
	case "firejail", "bwrap", "proot", "unionfs", "nix-shell", "guix", "nix", "flatpak", "snap", "distrobox", "toolbox", "machinectl", "lxc", "lxc-attach", "lxc-execute", "vagrant", "multipass", "wsl", "qemu-x86_64", "qemu-aarch64", "qemu-arm", "wine":
		return row{own: refuseAlways("it runs programs in a world of its own, where nobody decides what starts")}, true
	case "systemd-run":
		return row{opts: "--no-ask-password --scope -u,--unit= -p,--property=! --description= --slice= --slice-inherit --expand-environment= -r,--remain-after-exit --send-sighup --service-type= --uid= --gid= --nice= --working-directory= -d,--same-dir -E,--setenv=! -t,--pty -P,--pipe -S,--shell! -q,--quiet -G,--collect --wait --no-block --on-active=! --on-boot=! --on-startup=! --on-unit-active=! --on-unit-inactive=! --on-calendar=! --on-clock-change! --on-timezone-change! --path-property=! --socket-property=! --timer-property=! --user --system -H,--host=! -M,--machine=! -h,--help,--version~", rest: command}, true
	case "start-stop-daemon", "daemonize", "daemon", "run-one", "run-this-one", "keep-one-running", "svc", "runsv", "runsvdir", "supervisord", "supervisorctl", "pm2", "forever", "monit", "runit", "initctl":
		return row{own: refuseAlways("it starts programs that outlive the script")}, true
	case "env":
		return row{own: readEnv, opts: "-i,--ignore-environment -0,--null -u,--unset= -C,--chdir= -S,--split-string= -v,--debug --block-signal? --default-signal? --ignore-signal? --list-signal-handling -a,--argv0=! -P=! -L=! -U=! --help,--version~"}, true
	case "xargs", "gxargs":
		return row{own: readXargs, opts: "-0,--null -a,--arg-file= -d,--delimiter= -E= -e,--eof? -I= -i,--replace? -J= -L= -l,--max-lines? -n,--max-args= -P,--max-procs= -o,--open-tty -p,--interactive -R= -r,--no-run-if-empty -S= -s,--max-chars= --process-slot-var= --show-limits -t,--verbose -x,--exit --help,--version~"}, true
	case "sudo", "doas":
		return row{own: readSudo, opts: "-A,--askpass! -B,--bell -b,--background -C,--close-from= -c= -D,--chdir= -E,--preserve-env? -e,--edit! -g,--group= -H,--set-home -h,--host= --help,-V,--version,-v,--validate,-l,--list,-K,--remove-timestamp~ -i,--login! -k,--reset-timestamp -N,--no-update -n,--non-interactive -P,--preserve-groups -p,--prompt= -R,--chroot=! -r,--role= -S,--stdin -s,--shell! -T,--command-timeout= -t,--type= -U,--other-user= -u,--user="}, true
	case "su":
		return row{own: readSu, opts: "-c,--command=s --session-command=s -,-l,--login -f,--fast -g,--group= -G,--supp-group= -m,-p,--preserve-environment -P,--pty -T,--no-pty -s,--shell=! -w,--whitelist-environment= -h,--help,-V,--version~"}, true
	case "runuser":
		return row{own: readSu, opts: "-u,--user=u -c,--command=s --session-command=s -l,--login -f,--fast -g,--group= -G,--supp-group= -m,-p,--preserve-environment -P,--pty -s,--shell=! -w,--whitelist-environment= -h,--help,-V,--version~"}, true
	case "setarch", "linux64", "linux32", "i386", "i686", "x86_64", "aarch64", "uname26":
		return row{own: readSetarch, opts: "-B,--32bit -F,--fdpic-funcptrs -I,--short-inode -L,--addr-compat-layout -R,--addr-no-randomize -S,--whole-seconds -T,--sticky-timeouts -X,--read-implies-exec -Z,--mmap-page-zero -3,--3gb --4gb --uname-2.6 -v,--verbose -p= -h,--help,-V,--version,--list~"}, true
	default:
		return rowsRunningToo(name)
	}
}

// wrapperRows are rowsRunning that are rare.
func wrapperRows(name string) (row, bool) {
	switch name {
	case "gosu", "su-exec", "s6-setuidgid":
		return row{opts: "--help,--version~", rest: command, skip: 1}, true
	case "ssh-agent":
		return row{opts: "-a= -t= -E= -O= -P=! -c -s -D -d -k~", rest: command}, true
	case "dbus-launch":
		return row{opts: "--auto-syntax --binary-syntax --close-stderr --exit-with-session? --autolaunch= --sh-syntax --csh-syntax --config-file=! --version~", rest: command}, true
	case "softlimit":
		return row{opts: "-a= -c= -d= -f= -l= -m= -o= -p= -r= -s= -t=", rest: command}, true
	case "chpst":
		return row{opts: "-u= -U= -b=! -e=! -/=! -C= -n= -l= -L= -m= -d= -o= -p= -f= -c= -t= -v -P -0 -1 -2", rest: command}, true
	case "direnv":
		return row{own: readDirenv}, true
	default:
		return row{}, false
	}
}

// rowsRunningToo are the rest of rowsRunning: those that read text as well, and
// those with a word in front of the command.
func rowsRunningToo(name string) (row, bool) {
	switch name {
	case "watch":
		return row{own: readWatch, opts: "-b,--beep -c,--color -C,--no-color -d,--differences? -e,--errexit -f,--follow -g,--chgexit -q,--equexit= -n,--interval= -p,--precise -r,--no-rerun -s,--shotsdir= -t,--no-title -w,--no-wrap -x,--exec -h,--help,-v,--version~"}, true
	case "script":
		return row{own: readScript, opts: "-a,--append -c,--command=s -E,--echo= -e,--return -f,--flush -I,--log-in= -O,--log-out= -B,--log-io= -T,--log-timing= -m,--logging-format= -o,--output-limit= -q,--quiet -t,--timing? -F= -k -p~ -h,--help,-V,--version~"}, true
	case "flock":
		return row{own: readFlock, opts: "-s,--shared -x,-e,--exclusive -u,--unlock -n,--nb,--nonblock -w,--wait,--timeout= -o,--close -E,--conflict-exit-code= -F,--no-fork --fcntl --start= --length= -c,--command=s --verbose -h,--help,-V,--version~"}, true
	case "busybox", "toybox":
		return row{own: readBusybox}, true
	case "find", "gfind":
		return row{own: readFind}, true
	case "fd", "fdfind":
		return row{own: readFd}, true
	case "parallel":
		return row{own: readParallel}, true
	case "sem", "env_parallel", "parset":
		return row{own: refuseAlways("what it runs is put together by the program; use a loop, or parallel")}, true
	case "entr":
		return row{own: readEntr, opts: "-a -c -d -n -p -r -s -x -z -h~"}, true
	case "hyperfine":
		return row{opts: "-w,--warmup= -m,--min-runs= -M,--max-runs= -r,--runs= -s,--setup=s -p,--prepare=s -C,--conclude=s -c,--cleanup=s -P,--parameter-scan= -D,--parameter-step-size= -L,--parameter-list= -S,--shell=! -N -i,--ignore-failure --style= --sort= -u,--time-unit= --export-asciidoc= --export-csv= --export-json= --export-markdown= --export-orgmode= --show-output --output= --input= -n,--command-name= -h,--help,-V,--version~", own: readTexts}, true
	case "pee", "mispipe":
		return row{own: readTexts}, true
	case "sg":
		return row{own: readSg}, true
	case "newgrp", "login", "agetty", "getty", "sulogin", "chsh", "screen", "byobu", "zellij", "ttyd", "gotty", "tmate", "abduco", "dtach":
		return row{own: readTerminal}, true
	case "tmux":
		return row{own: readTmux}, true
	case "gdb", "cgdb", "lldb":
		return row{own: readDebugger}, true
	case "perf":
		return row{own: readPerf}, true
	case "capsh":
		return row{own: readCapsh}, true
	case "exec", "builtin", "command", "eval", "source", "trap":
		return row{}, false // programs of these names are none
	case "run-parts":
		return row{opts: "--test~ --list~ --verbose --report --lsbsysinit --regex= -a,--arg= -u,--umask= --new-session --reverse --exit-on-error --help,--version~", own: refuseAlways("it runs every file of a folder")}, true
	case "xdg-open", "open", "sensible-browser", "sensible-editor", "sensible-pager", "x-www-browser", "editor", "pager", "see", "run-mailcap", "edit", "compose", "x-terminal-emulator", "xterm", "gnome-terminal", "konsole", "alacritty", "kitty":
		return row{own: refuseAlways("it starts the program that the system has set for it")}, true
	case "memusage", "sotruss", "ldd", "xtrace":
		return row{own: refuseAlways("it runs the program that it looks at")}, true
	default:
		return row{}, false
	}
}
