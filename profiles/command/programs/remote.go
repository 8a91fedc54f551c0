package programs

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// readSSH reads ssh: the words after the host are text for a shell there. Without them that shell reads
// standard input.
func readSSH(r *reader) {
	host, none := false, false
	for it := range r.items {
		switch {
		case it.name != "":
			none = none || it.name == "-N" || it.name == "-W"
			r.applyKnown(it)
		case r.lost:
			return
		case !host:
			host = true
			if strings.HasPrefix(it.word.Text, "-") {
				r.refuse("a host that looks like an option", it.word.Text)
			}
		default:
			if !r.idle {
				r.text(r.name, join(r.args[it.at:], r.command.More))
			}
			return
		}
	}
	if host && !none && !r.idle {
		if r.command.More {
			r.refuse("what it runs comes from the input of another", "")
		}
		r.out.Stdin = r.row.language
	}
}

// sshSetting reads ssh -o. The settings that start a program are in the row of ssh.
func sshSetting(r *reader, w argv.Word) {
	const blank = " \t\r\n"
	key := strings.TrimLeft(w.Text, "=\""+blank)
	value, at := "", strings.IndexAny(key, "="+blank)
	if at >= 0 {
		key, value = key[:at], key[at:]
	}
	key = strings.ToLower(strings.Trim(key, "\""))
	value = strings.ToLower(strings.Trim(strings.TrimLeft(value, "="+blank), "\""))
	if w.Open && at < 0 {
		r.out.Maybe = true
		return
	}
	ssh, ok := r.table.program("ssh")
	if ok && !ssh.has("keys", key) || value == "none" || key == "permitlocalcommand" && value == "no" {
		return
	}
	r.refuse("this setting of ssh starts a program, or loads what does", w.Text)
}

// mountSettings reads sshfs -o: settings of its own and of ssh.
func mountSettings(r *reader, it item) {
	for part := range strings.SplitSeq(it.value.Text, ",") {
		part = strings.TrimSpace(part)
		if key, _, _ := strings.Cut(part, "="); r.row.has("keys", key) {
			r.refuse("this setting starts a program", part)
			continue
		}
		w := it.value
		w.Text = part
		sshSetting(r, w)
	}
}

// remoteShell reads rsync -e: the remote shell is a command line.
func remoteShell(r *reader, it item) {
	ws, readable := split(it.value.Text)
	switch {
	case it.value.Open:
		r.out.Maybe = true
	case !readable || len(ws) == 0:
		r.refuse("its remote shell cannot be read", it.value.Text)
	default:
		// rsync puts the host and its own remote words behind it: ssh takes them as such.
		r.startWith("rsync -e", ws, nil, ws[0].Text != "ssh")
	}
}

// remoteRsync reads rsync --rsync-path.
func remoteRsync(r *reader, it item) {
	switch t := it.value.Text; {
	case it.value.Open:
		r.out.Maybe = true
	case t != "rsync" && t != "/usr/bin/rsync" && t != "sudo rsync":
		r.refuse("it is run by a shell on the other side", t)
	}
}

// readNetcat reads nc. The traditional one has shell text behind -c, OpenBSD's speaks TLS and has
// no value there.
func readNetcat(r *reader) {
	for it := range r.items {
		switch {
		case it.effect == "tls-or-shell" && it.has:
			r.text("nc -c", it.value)
		case it.effect == "tls-or-shell":
			if r.next < len(r.args) && !hostAndPort(r) {
				r.text("nc -c", r.args[r.next])
			}
		case it.name != "":
			r.apply(it)
		}
	}
}

// hostAndPort reports that the next words are no text for a shell.
func hostAndPort(r *reader) bool {
	if r.next+2 != len(r.args) {
		return false
	}
	host, port := r.args[r.next].Text, r.args[r.next+1]
	return !port.Open && port.Text != "" && strings.Trim(port.Text, "0123456789") == "" &&
		!strings.ContainsAny(host, " /|;&") && !r.row.has("runs", host)
}

// readSocat reads socat: some addresses start programs.
func readSocat(r *reader) {
	for _, w := range r.args {
		t := strings.ToLower(w.Text)
		for _, part := range strings.Split(t, "!!") {
			for _, kind := range r.row.list("addresses") {
				if strings.HasPrefix(strings.TrimLeft(part, " "), kind) {
					r.refuse("this address starts a program", w.Text)
				}
			}
		}
		if w.Open && (t == "" || !strings.ContainsAny(t, ":-") || strings.HasSuffix(t, "!!")) {
			r.out.Maybe = true
		}
	}
	if r.command.More {
		r.out.Maybe = true
	}
}

// readLater reads programs that run commands at another time: they may only list.
func readLater(r *reader) {
	ok := len(r.args) > 0
	for _, w := range r.args {
		switch {
		case w.Open:
			r.out.Maybe = true
			return
		case r.row.has("harmless", w.Text):
		case r.name == "at" && strings.Trim(w.Text, "0123456789") == "" && len(r.args) > 1:
		default:
			ok = false
		}
	}
	if !ok || r.command.More {
		r.refuse("what it runs later, nobody decides", r.name)
	}
}

// readContainer reads docker, kubectl and their like. A command in a container is judged like
// one here: what may not run here may not run there.
func readContainer(r *reader) {
	var sub []string
	for len(sub) < 4 {
		it, ok := r.item()
		switch {
		case !ok:
			return
		case it.name != "":
			continue
		case it.word.Open:
			r.out.Maybe = true
			return
		}
		sub = append(sub, it.word.Text)
		if !r.row.has("known", it.word.Text) {
			break
		}
	}
	if r.row.has("known", sub[len(sub)-1]) {
		return
	}
	if slices.Contains(r.row.modes, "kubernetes") {
		readKubectl(r, sub[len(sub)-1])
		return
	}
	containerCommand(r, sub)
}

// containerCommand reads a sub-command that may start a command in a container.
func containerCommand(r *reader, sub []string) {
	last := sub[len(sub)-1]
	compose := strings.Contains(r.name, "compose") || len(sub) > 1 && sub[0] == "compose"
	switch {
	case last == "unshare" || last == "sh":
		r.refuse("it starts a shell", last)
		return
	case last != "exec" && last != "run" && last != "create", len(sub) > 1 && sub[0] == "image":
		return
	case compose && last == "create":
		return
	}
	usePart(r, "docker", "run")
	var entry []argv.Word
	via := r.name + " " + last
	for it := range r.items {
		switch {
		case it.effect == "entrypoint" && it.value.Text != "":
			entry = []argv.Word{it.value}
		case it.effect == "entrypoint":
			r.out.Maybe = r.out.Maybe || it.value.Open
		case it.unknown && !strings.Contains(it.word.Text, "="):
			r.refuse(unknownOption, it.word.Text)
		case it.name != "":
			r.apply(it)
		case r.lost:
			return
		case r.row.skip > 0:
			r.row.skip-- // the container or the image
		default:
			if !r.idle {
				r.start(via, append(entry, r.args[it.at:]...))
			}
			return
		}
	}
	r.startWith(via, entry, nil, true)
}

// usePart goes on with the options of a part of a program.
func usePart(r *reader, program, name string) {
	if part, ok := r.table.part(program, name); ok {
		r.row = *part
	}
}

// readKubectl reads a sub-command of kubectl. The command of exec and run follows --, or the pod.
func readKubectl(r *reader, sub string) {
	switch sub {
	case "edit":
		r.refuse("it starts an editor", sub)
	case "plugin", "krew":
		r.refuse("it runs programs of others", sub)
	case "config":
		for _, w := range r.args {
			r.out.Maybe = r.out.Maybe || w.Open && (w.Text == "" || w.Many)
			if strings.HasPrefix(w.Text, "--exec-command") || strings.HasPrefix(w.Text, "--exec-arg") {
				r.refuse("kubectl starts it to log in", w.Text)
			}
		}
	case "diff":
		r.out.Needs = append(r.out.Needs, "diff")
	case "exec", "debug", "run":
		kubectlCommand(r, sub)
	default:
		if r.name != "kubectl" {
			return
		}
		if _, ok := r.table.part("kubectl", sub); !ok { // a program of its name in front of the sub-command
			ws := prepend(argv.Known("kubectl-"+sub), r.args[r.next:])
			r.startWith("kubectl", ws, nil, r.command.More)
		}
	}
}

// kubectlCommand reads the command that kubectl starts in a pod.
func kubectlCommand(r *reader, sub string) {
	usePart(r, "kubectl", "exec")
	pods := 1
	for it := range r.items {
		switch {
		case it.name != "":
		case r.lost:
			return
		case pods > 0 && !(r.ended && sub != "exec"):
			pods--
		default:
			if r.ended || sub == "exec" {
				r.start("kubectl "+sub, r.args[it.at:])
			}
			return
		}
	}
}

// readCloud reads command lines of cloud services and code hosts by the rules of their row: rules for
// options, for words after --, and for the path of sub-commands.
func readCloud(r *reader) {
	subs, settled := cloudWords(r)
	if !settled || len(subs) == 0 {
		return
	}
	if r.row.has("input", subs[0]) {
		r.out.Stdin = r.row.language
		return
	}
	path := ""
	for _, sub := range subs { // a word with a slash is not part of the path
		path += strings.ReplaceAll(sub, "/", "\\") + "/"
	}
	for _, rule := range r.row.rules {
		if rule.when != "path" && rule.when != "key" || !rule.matches(path) {
			continue
		}
		word := subs[0]
		if rule.when == "key" {
			word = subs[2]
		}
		if !rule.allow {
			r.refuse(rule.reason, word)
		}
		return
	}
	if r.name == "gh" && subs[0] == "browse" && !r.hasWord("-n", "--no-browser") {
		r.refuse("it sets or runs programs of others", subs[0])
	}
}

// cloudWords reads the options of a command line and returns its first three other words. It
// returns false if the first ones are not known.
func cloudWords(r *reader) (subs []string, settled bool) {
	behind := false // --: what follows are options of git
	for i, w := range r.args {
		t := w.Text
		switch {
		case w.Open && i < 2 && t == "":
			r.out.Maybe = true
			return nil, false
		case w.Open && !w.Fed && behind && t == "" && r.name == "gh":
			r.out.Maybe = true
		case behind && refuseBehindDashes(r, t):
		case strings.HasPrefix(t, "-"):
			behind = behind || t == "--"
			r.refuseByRules(i, t)
		case len(subs) < 3:
			subs = append(subs, t)
		}
	}
	return subs, true
}

// refuseBehindDashes refuses a word behind -- if a rule says so.
func refuseBehindDashes(r *reader, text string) bool {
	for _, rule := range r.row.rules {
		if rule.when == "dashes" && rule.matches(text) {
			r.refuse(rule.reason, text)
			return true
		}
	}
	return false
}
