package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// readParallel reads GNU parallel: a command line for a shell, filled with the
// words behind ::: or with lines of standard input.
func readParallel(r *runningReader) {
	r.Row.Flags = exact
	r.Row.Opts = "-j,--jobs,-P,--max-procs= -n,--max-args= -N,--max-replace-args= -L,--max-lines= -l? -a,--arg-file= -I= -i? -d,--delimiter= -0,--null -k,--keep-order -q,--quote -r,--no-run-if-empty -t,--verbose -u,--ungroup -v -X,-m,--xargs -C,--colsep= -E= -s,--max-chars= -S,--sshlogin=! --slf,--sshloginfile=! --sshdelay= -J,--profile=! --tmux! --tmuxpane! --fg --bg --semaphore! --wc,--wd,--workdir= --tmpdir= --tempdir= --results= --joblog= --resume --timeout= --retries= --delay= --halt= --halt-on-error= --load= --memfree= --nice= --tag --tagstring= --line-buffer,--lb --group --bar --progress --eta --dry-run,--dryrun --shuf --plus --pipe,--spreadstdin --block= --recstart= --recend= --pipepart --round-robin --tee --header= --shell-quote --trim= --transferfile=! --return=! --cleanup! --basefile=! --env= --nonall! --onall! --limit=s --filter= --rpl=! --er= --arg-sep= --arg-file-sep= --bar --no-notice --will-cite --silent --link --max-line-length-allowed --minversion= --number-of-cpus --number-of-cores --shellquote --citation~ -h,--help,-V,--version~"
	var template []argv.Word
	var lists []argv.Word
	listed := false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Unknown:
			r.Refuse("an option is not known, so neither is the command behind it", it.Word.Text)
			return
		case it.Name != "":
			r.Apply(it)
			continue
		case r.Lost:
			return
		}
		template = r.Args[it.At:]
		break
	}
	for i, w := range template {
		if w.Many {
			r.Out.Maybe = true
			return
		}
		if strings.HasPrefix(w.Text, ":::") && !w.Open {
			listed = true
			lists = template[i+1:]
			template = template[:i]
			break
		}
	}
	switch {
	case r.Idle:
	case len(template) > 0:
		r.template(template)
	case !listed || r.C.More:
		// Each line of standard input is a command.
		r.ShellStdin("sh")
	default:
		for _, w := range lists {
			if !strings.HasPrefix(w.Text, ":::") || w.Open {
				r.Text(r.Name, w)
			}
		}
	}
}

// template notes the command of parallel: words that a shell reads, with something
// for {} or at the end.
func (r *runningReader) template(ws []argv.Word) {
	plain := true
	for _, w := range ws {
		plain = plain && !strings.ContainsAny(w.Text, " \t\n;|&$`<>()'\"\\*?[]#~!")
	}
	some := false
	for _, mark := range []string{"{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{1}", "{2}"} {
		if first, _, _ := strings.Cut(strings.TrimLeft(ws[0].Text, " \t"), " "); strings.Contains(first, mark) {
			r.Refuse("the program that it starts comes from its input", ws[0].Text)
			return
		}
		var filled bool
		if plain {
			ws, filled = fill(ws, mark, argv.Word{Fed: true})
			some = some || filled
		}
	}
	if plain {
		r.StartWith(r.Name, ws, nil, !some)
		return
	}
	r.Text(r.Name, Join(ws, false))
}
