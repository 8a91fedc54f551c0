package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// interpreterRows are shells and general interpreters.
func interpreterRows(name string) (row, bool) {
	switch name {
	case "sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "lksh", "oksh", "pdksh", "posh", "yash", "rbash", "rksh", "zsh", "rzsh", "hush", "static-sh", "bash-static", "zsh-static", "osh":
		return row{Own: ownInterpreter(readShell)}, true
	case "fish", "csh", "tcsh", "bsd-csh", "pwsh", "powershell", "nu", "elvish", "xonsh", "es", "rc", "ion", "oil", "ysh", "murex", "scsh", "git-shell", "cmd", "cmd.exe", "powershell.exe", "murex.exe":
		return row{Own: Always("its language is not that of bash, so nobody here can read what it would run")}, true
	case "python", "python2", "python3", "pypy", "pypy3", "ipython", "ipython3", "bpython":
		return row{Own: ownInterpreter(readPython), Flags: runsFiles, Opts: "-c=t -m=m -W= -X= --check-hash-based-pycs= -b -B -d -E -i,--interactive -I -O -P -q -R -s -S -t -u -v -x -3 -h,--help,-V,--version~ --help-all,--help-env,--help-xoptions~"}, true
	case "perl":
		return row{Own: ownInterpreter(readPerl), Flags: runsFiles | exact, Opts: "-e=t -E=t -M=m -m=m -I= -i? -0? -F? -l? -x? -C? -D? -d?d -V?~ -a -c -f -g -h~ -n -p -s -S -t -T -u -U -v~ -w -W -X"}, true
	case "ruby", "jruby", "truffleruby", "irb":
		return row{Own: ownInterpreter(readScripted("ruby")), Flags: runsFiles, Opts: "-e=t -r=r --require=r -I= -C= -E,--encoding= -F= -i? -0? -K= -T? -W? -x? -S -a -c -d -l -n -p -s -U -w -y -h,--help,-v,--version,--copyright~ --enable= --disable= --jit --yjit --debug --verbose --parser= --dump= --backtrace-limit="}, true
	case "node", "nodejs", "iojs":
		return row{Own: ownInterpreter(readScripted("node")), Flags: runsFiles | exact, Opts: "-e,--eval=t -p,--print?p -r,--require=r --import=r --loader,--experimental-loader=! -c,--check -i,--interactive --inspect? --inspect-brk? --inspect-port= --env-file= --env-file-if-exists= --input-type= --stack-trace-limit= --title= -C,--conditions= --test --watch --watch-path= --run=R --max-old-space-size= --openssl-config=! --icu-data-dir= --snapshot-blob=! --build-snapshot --redirect-warnings= --dns-result-order= --test-name-pattern= --test-reporter= --test-reporter-destination= -h,--help,-v,--version~"}, true
	case "bun":
		return row{Own: ownInterpreter(readBun), Flags: runsFiles}, true
	case "deno":
		return row{Own: ownInterpreter(readDeno), Flags: runsFiles}, true
	case "php", "php-cli", "phpdbg":
		return row{Own: ownInterpreter(readScripted("php")), Flags: runsFiles, Opts: "-r=t --run=t -B,--process-begin=t -R,--process-code=t -E,--process-end=t -f,--file=F -F,--process-file=F -d,--define=! -c,--php-ini=! -z,--zend-extension=! -t,--docroot= -S,--server=! -l,--syntax-check -n,--no-php-ini -q -s,--syntax-highlight -w,--strip -a,--interactive -e -H -C -h,--help,-v,--version,-i,--info,-m,--modules,--ini~ --rf=~ --rc=~ --re=~ --ri=~"}, true
	case "lua", "luajit", "luau", "texlua":
		return row{Own: ownInterpreter(readScripted("lua")), Flags: runsFiles, Opts: "-e=t -l=r -i -E -W -v~ -j? -O? -b"}, true
	case "Rscript", "R", "r", "littler":
		return row{Own: ownInterpreter(readScripted("r")), Flags: runsFiles, Opts: "-e=t --eval=t -f,--file=F --default-packages= -g,--gui= -d,--debugger=! --vanilla --slave --no-save --no-restore --quiet --no-echo --args --version,--help~"}, true
	case "java":
		return row{Own: ownInterpreter(readJava), Flags: runsFiles}, true
	case "erl":
		return row{Own: ownInterpreter(readScripted("other")), Flags: runsFiles | longOnly, Opts: "-eval=t -run=! -s=! -config=! -args_file=! -boot=! -pa= -pz= -sname= -name= -setcookie= -remsh=! -noshell -noinput -detached -version,-help~"}, true
	case "bpftrace":
		return row{Own: ownInterpreter(readScripted("other")), Flags: runsFiles, Opts: "-e=t -c=c -p= -f= -o= -B= -I= --include= -l -d? -q -v -k -h,--help,-V,--version,--info~"}, true
	case "osascript":
		return row{Own: ownInterpreter(readScripted("applescript")), Flags: runsFiles, Opts: "-e=t -l= -s= -i"}, true
	case "jshell", "scala", "scala-cli", "groovy", "kotlin", "kotlinc", "clojure", "clj", "bb", "ghci", "ghc", "runghc", "runhaskell", "stack", "ocaml", "utop", "julia", "octave", "octave-cli", "matlab", "gnuplot", "maxima", "gp", "sage", "swipl", "gprolog", "escript", "elixir", "iex", "mix",
		"guile", "racket", "sbcl", "clisp", "ecl", "chicken-csi", "csi", "gosh", "tclsh", "wish", "expect", "jimsh", "raku", "perl6", "crystal", "dart", "swift", "nim", "v", "zig", "factor", "gforth", "smalltalk", "gst", "pike", "slsh", "rexx", "regina", "coffee", "ts-node", "tsx", "ts-node-esm", "qjs", "d8", "rhino", "mongo", "mongosh", "awk2c", "newlisp", "picolisp", "janet", "fennel", "hy", "stap", "dtrace":
		return row{Own: ownInterpreter(readScripted("other")), Flags: runsFiles, Opts: "-e,--eval,--evaluate,--execute,-execute=t --eval-file=! -E=t -c=t -p,--print?p -ne,-g,-t,-x=t --command=t --goal=t -S= -r,--require=r -i -q,--quiet -b -n,--noprofile -s -h,--help,--version~ -l,--load=F -f=F --script=F --project? -J= -cp,-classpath= -noshell -s= -run=!"}, true
	default:
		return row{}, false
	}
}

// readShell reads a shell's words: -c and a text, or standard input. A script file
// is refused, as nobody reads it before it runs.
func readShell(r *interpreterReader) {
	text, stdin := false, false
	i := 0
	for ; i < len(r.Args); i++ {
		w := r.Args[i]
		if w.Open && (w.Text == "" || w.Many || strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+")) {
			r.Out.Maybe = true
			if w.Fed {
				r.Refuse("its words come from the input of another", w.Text)
			}
			return
		}
		if w.Text == "--" || w.Text == "-" {
			i++
			break
		}
		if len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' {
			break
		}
		switch skip, verdict := shellOption(w.Text); verdict {
		case shellTells:
			return
		case shellRefused:
			r.Refuse("this option loads what nobody has read, or is not known", w.Text)
			return
		case shellPlain, shellReads, shellStdin:
			text = text || verdict == shellReads
			stdin = stdin || verdict == shellStdin
			if skip > 0 && i+1 < len(r.Args) && r.Args[i+1].Many {
				r.Out.Maybe = true
				return
			}
			for j := 1; j <= skip && i+j < len(r.Args); j++ {
				if t := r.Args[i+j]; t.Open {
					r.Out.Maybe = true
				} else if t.Text == "extdebug" {
					r.Refuse("this option lets programs of its own watch the script", t.Text)
				}
			}
			i += skip
		}
	}
	rest := r.Args[min(i, len(r.Args)):]
	r.shellOperands(rest, text, stdin)
}

// shellOperands reads what stands behind a shell's options.
func (r *interpreterReader) shellOperands(rest []argv.Word, text, stdin bool) {
	switch {
	case text && len(rest) == 0:
		if r.C.More {
			r.Refuse("its text comes from the input of another", r.Name)
		}
	case text:
		if rest[0].Open && rest[0].Fed {
			r.Refuse("its text comes from the input of another", rest[0].Text)
			return
		}
		params := rest[1:]
		if r.C.More {
			params = append(params[:len(params):len(params)], argv.Word{Open: true, Many: true, Fed: true})
		}
		r.Script(r.Name+" -c", rest[0], r.Name, params, r.C.Outside)
	case stdin || len(rest) == 0 && !r.C.More || len(rest) > 0 && !rest[0].Open && stdinFile(rest[0].Text):
		params := rest
		if !stdin && len(rest) > 0 {
			params = rest[1:]
		}
		r.Out.Scripts = append(r.Out.Scripts, argv.Script{Shell: r.Name, Params: params, Outside: r.C.Outside, Chain: []string{r.Name}})
	default:
		file := ""
		if len(rest) > 0 {
			file = rest[0].Text
		}
		r.Refuse("a script file is not read before it runs; put its text into the script, or behind -c", file)
	}
}

type shellVerdict uint8

const (
	shellPlain shellVerdict = iota
	shellReads              // -c
	shellStdin              // -s
	shellTells              // --version
	shellRefused
)

// shellOption reads one option word of a shell: how many words are its values, and
// what it means.
func shellOption(t string) (skip int, v shellVerdict) {
	if strings.HasPrefix(t, "--") {
		switch t {
		case "--norc", "--noprofile", "--posix", "--login", "--restricted", "--verbose", "--noediting", "--no-rcs", "--pretty-print":
			return 0, shellPlain
		case "--version", "--help":
			return 0, shellTells
		default:
			return 0, shellRefused
		}
	}
	for i := 1; i < len(t); i++ {
		switch t[i] {
		case 'c':
			if t[0] == '-' {
				v = shellReads
			}
		case 's':
			if v != shellReads {
				v = shellStdin
			}
		case 'o', 'O':
			skip++
		case 'a', 'b', 'e', 'f', 'h', 'i', 'k', 'l', 'm', 'n', 'p', 'r', 't', 'u', 'v', 'x', 'B', 'C', 'E', 'H', 'P', 'd', 'y', 'X', 'V', 'I', 'q', 'D':
		case 'T':
			return 0, shellRefused
		default:
			return 0, shellRefused
		}
	}
	return skip, v
}
