package programs

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// readNpm reads npm and its like: scripts of the project, programs of packages, and text for a
// shell.
func readNpm(r *reader) {
	for it := range r.items {
		switch {
		case it.name != "":
			r.apply(it)
			continue
		case r.lost || it.word.Open:
			r.out.Maybe = true
			return
		}
		npmCommand(r, it)
		return
	}
}

// npmCommand reads a sub-command of npm.
func npmCommand(r *reader, it item) {
	via := r.name + " " + it.word.Text
	switch it.word.Text {
	case "exec", "x", "dlx":
		if npx, ok := r.table.program("npx"); ok {
			r.as(npx)
		}
	case "create", "init", "innit":
		if r.next < len(r.args) && !strings.HasPrefix(r.args[r.next].Text, "-") {
			w := r.args[r.next]
			r.start(via, prepend(argv.Word{Text: "create-" + w.Text, Open: w.Open}, r.args[r.next+1:]))
		}
	case "config", "set", "c":
		npmConfig(r, it.word.Text)
	case "explore":
		for i := r.next; i < len(r.args); i++ {
			if r.args[i].Text == "--" {
				r.text(via, join(r.args[i+1:], r.command.More))
				return
			}
		}
		r.refuse("it opens a shell", it.word.Text)
	case "edit", "docs", "home", "bugs", "repo":
		r.refuse("it starts an editor or a browser", it.word.Text)
	case "node":
		r.start(via, r.args[it.at:])
	case "env":
		r.refuse("it runs a program with another engine", it.word.Text)
	default:
		for rest := range r.items {
			if rest.name != "" && rest.name != "-c" && !r.ended {
				r.apply(rest)
			}
			if r.ended {
				return // the rest belongs to a script of the project
			}
		}
	}
}

// npmConfig reads npm config set: the keys that start nothing are allowed by the rules of npm.
func npmConfig(r *reader, sub string) {
	rest := r.args[r.next:]
	if sub != "set" {
		switch {
		case len(rest) > 0 && rest[0].Open:
			r.out.Maybe = true
			return
		case len(rest) > 0 && rest[0].Text == "edit":
			r.refuse("it starts an editor", "edit")
			return
		case len(rest) == 0 || rest[0].Text != "set":
			return
		}
		rest = rest[1:]
	}
	for _, w := range rest {
		key, _, _ := strings.Cut(strings.TrimLeft(w.Text, "-"), "=")
		key = strings.TrimPrefix(key, "//")
		switch {
		case w.Open && key == w.Text:
			r.out.Maybe = true
			return
		case r.row.allows(key):
			if !strings.Contains(w.Text, "=") {
				return
			}
		case strings.HasPrefix(w.Text, "-"):
		default:
			r.refuse("a setting of npm that may start programs", key)
			return
		}
	}
}

// readNpx reads npx and its like: a program of a package, fetched if it is not there.
func readNpx(r *reader) {
	for it := range r.items {
		switch {
		case it.name != "":
			r.applyKnown(it)
		case r.lost || it.word.Open:
			r.out.Maybe = true
			return
		case r.idle:
			return
		default:
			name := it.word.Text
			if at := strings.LastIndexByte(name, '@'); at > 0 {
				name = name[:at]
			}
			name = name[strings.LastIndexByte(name, '/')+1:]
			r.start(r.name, prepend(argv.Known(name), r.args[it.at+1:]))
			return
		}
	}
}

// readPackages reads installers of language packages: programs that run a command in their own environment,
// and settings that start programs. Their common rules are in a row of their own.
func readPackages(r *reader) {
	common, ok := r.table.part("packages", "any")
	if !ok {
		r.refuse("no row says what its options are", r.name)
		return
	}
	sub := ""
	for i := 0; i < len(r.args); i++ {
		w := r.args[i]
		t := w.Text
		switch {
		case w.Open && (t == "" || w.Many) && sub == "":
			r.out.Maybe = true
			return
		case keyringProgram(r, i), common.rules[0].matches(t):
			r.refuse(common.rules[0].reason, t)
		case slices.Contains(r.row.modes, "pip") && strings.HasPrefix(t, "--py") &&
			!strings.HasPrefix(t+"=", "--python-version="):
			if _, value, joined := strings.Cut(t, "="); joined {
				w.Text = value
				r.program("pip --python", w)
			} else if i++; i < len(r.args) {
				r.program("pip --python", r.args[i])
			}
		case strings.HasPrefix(t, "-"):
			if common.has("valued", t) {
				i++
			}
		case r.name == "uvx":
			name, _, _ := strings.Cut(t, "@")
			r.start("uvx", prepend(argv.Word{Text: name, Open: w.Open}, r.args[i+1:]))
			return
		case sub != "", r.row.has("external", t): // as in uv tool run
		default:
			sub = t
			if packagesCommand(r, common, sub, i+1) {
				return
			}
		}
	}
}

// keyringProgram reports an option by which pip starts the program of a keyring.
func keyringProgram(r *reader, at int) bool {
	t := r.args[at].Text
	return strings.HasPrefix(t, "--keyring-provider") &&
		(strings.Contains(t, "subprocess") || at+1 < len(r.args) && r.args[at+1].Text == "subprocess")
}

// packagesCommand reads a sub-command, whose words begin at args[at]. It returns true if all is
// read.
func packagesCommand(r *reader, common *row, sub string, at int) bool {
	next := argv.Word{}
	if at < len(r.args) {
		next = r.args[at]
	}
	switch {
	case r.row.has("runs", sub):
		packagedCommand(r, common, r.args[at:])
	case sub == "config" && next.Open:
		r.out.Maybe = true
	case sub == "config" && next.Text == "edit", common.has("runs", sub):
		r.refuse("it starts a shell or an editor", sub)
	default:
		return false
	}
	return true
}

// packagedCommand reads the command after run or exec.
func packagedCommand(r *reader, common *row, ws []argv.Word) {
	for i := 0; i < len(ws); i++ {
		t := ws[i].Text
		switch {
		case ws[i].Open && (t == "" || ws[i].Many):
			r.out.Maybe = true
			return
		case t == "--":
			r.start(r.name+" run", ws[i+1:])
			return
		case common.has("valued", t):
			i++
		case strings.HasPrefix(t, "-"):
		case strings.HasSuffix(t, ".py"):
			return // a program file, as with python
		default:
			r.start(r.name+" run", ws[i:])
			return
		}
	}
}

// aptSetting reads apt -o: a setting may be a hook. The rules of apt's row allow the others.
func aptSetting(r *reader, it item) {
	key, value, _ := strings.Cut(it.value.Text, "=")
	name := strings.ToLower(strings.TrimRight(key, ": "))
	switch {
	case it.value.Open && key == it.value.Text:
		r.out.Maybe = true
	case name == "dpkg::options" && r.row.has("harmless", value):
	case !r.row.allows(name):
		r.refuse("by this setting apt starts a program, or may", key)
	}
}
