package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// readGit reads git: settings in front of the sub-command, then what of it starts.
func readGit(r *reader) {
	var aliases []argv.Word
	for it := range r.items {
		switch {
		case it.effect == "git-setting":
			if alias, is := gitSetting(r, it.value); is {
				aliases = append(aliases, alias)
			}
		case it.effect == "git-setting-from":
			key, _, _ := strings.Cut(it.value.Text, "=")
			if GitKey(key, "", false) != GitKeySafe {
				r.refuse("git's setting comes from a variable, and the key can start programs", it.value.Text)
			}
		case it.effect == "git-folder":
			if anybodyWrites(it.value.Text) {
				r.refuse("a repository where everybody writes may start programs by its settings", it.value.Text)
			}
		case it.effect == "!" && !it.has: // --exec-path alone tells
		case it.unknown:
			r.refuse("an option of git that is not known", it.word.Text)
		case it.name != "":
			r.apply(it)
		case r.lost || it.word.Open:
			r.out.Maybe = true
			return
		default:
			if !r.idle {
				gitSub(r, it.word.Text, aliases)
			}
			return
		}
	}
}

func anybodyWrites(p string) bool {
	for _, at := range []string{"/tmp", "/var/tmp", "/dev", "/proc", "/run", "/sys"} {
		if p == at || strings.HasPrefix(p, at+"/") {
			return true
		}
	}
	return false
}

// gitSetting judges -c KEY=VALUE. It returns an alias as NAME=WORDS.
func gitSetting(r *reader, w argv.Word) (alias argv.Word, is bool) {
	key, value, has := strings.Cut(w.Text, "=")
	if w.Open && !has {
		r.out.Maybe = true
		return w, false
	}
	if !has {
		value = "true"
	}
	if gitKey(r, key, argv.Word{Text: value, Open: w.Open}) == gitKeyAlias {
		name := strings.TrimPrefix(strings.ToLower(key), "alias.")
		return argv.Word{Text: name + "=" + value, Open: w.Open}, true
	}
	return w, false
}

// gitKey judges a setting.
func gitKey(r *reader, key string, value argv.Word) gitKeyKind {
	kind := GitKey(key, value.Text, !value.Open)
	if to := rewritesGitKey(key); to != "" {
		gitURL(r, argv.Known(to))
	}
	switch kind {
	case GitKeySafe:
	case gitKeyAlias:
		if ws, ok := split(value.Text); ok {
			r.startWith("git alias", prepend(argv.Known("git"), ws), nil, true)
		} else {
			r.refuse("the words of the alias cannot be read", key)
		}
	case gitKeyUnknown:
		r.refuse("a setting that is not known not to start programs", key)
	case gitKeyStarts:
		if value.Open && GitKey(key, "", true) == GitKeySafe {
			r.out.Maybe = true
			return kind
		}
		r.refuse("by this setting git starts a program, or reads more settings", key)
	}
	return kind
}

// gitURL refuses addresses that git reaches by a program which they name.
func gitURL(r *reader, w argv.Word) {
	t := w.Text
	before, _, helper := strings.Cut(t, "::")
	const scheme = "abcdefghijklmnopqrstuvwxyz0123456789+.-"
	switch {
	case helper && before != "" && strings.Trim(strings.ToLower(before), scheme) == "":
		r.refuse("git reaches this address by a program", t)
	case strings.Contains(t, "://-"), strings.HasPrefix(t, "-") && strings.Contains(t, "ProxyCommand"),
		strings.Contains(t, "@-o"):
		r.refuse("an address with options of ssh in it", t)
	case w.Open && !strings.ContainsAny(t, ":/-"):
		r.out.Maybe = r.out.Maybe || !w.Fed
	}
}

// gitSub reads a sub-command. Those that git has have rows of their own.
func gitSub(r *reader, sub string, aliases []argv.Word) {
	part, known := r.table.part("git", sub)
	for _, a := range aliases {
		name, value, _ := strings.Cut(a.Text, "=")
		if name != strings.ToLower(sub) || known && part.refused == "" {
			continue
		}
		if ws, ok := split(value); ok && !a.Open {
			ws = append(prepend(argv.Known("git"), ws), r.args[r.next:]...)
			r.startWith("git "+sub, ws, nil, r.command.More)
		}
		return
	}
	switch {
	case known && part.refused != "":
		r.refuse(part.refused, sub)
	case known && part.reader != nil:
		r.row = *part
		part.reader(r)
	case known && part.options != nil:
		addresses := r.row.has("addresses", sub)
		r.row = *part
		gitPlain(r, sub, addresses)
	case known:
	case r.row.has("external", sub):
		r.startWith("git", prepend(argv.Known("git-"+sub), r.args[r.next:]), nil, r.command.More)
	default:
		r.refuse("git has no such sub-command: it would be an alias or a program git-"+sub, sub)
	}
}

// gitPlain reads the options of a sub-command and the addresses among its operands.
func gitPlain(r *reader, sub string, addresses bool) {
	tool := false
	count := 0
	for it := range r.items {
		switch {
		case it.effect == "git-tool" || it.name == "--tool-help":
			if tool = true; it.effect == "git-tool" {
				r.text("git difftool -x", it.value)
			}
		case it.name != "":
			gitOption(r, it)
		default:
			r.refuseByRules(count, it.word.Text)
			count++
			if addresses {
				gitURL(r, it.word)
			}
		}
	}
	if (sub == "difftool" || sub == "mergetool") && !tool && !r.idle {
		r.refuse("it starts the tool that the settings name", sub)
	}
}

// gitOption reads an option of a sub-command.
func gitOption(r *reader, it item) {
	switch it.effect {
	case "git-setting":
		gitSetting(r, it.value)
	case "git-strategy":
		gitStrategy(r, it.value)
	case "git-address":
		gitURL(r, it.value)
	case "git-path":
		if strings.HasPrefix(it.value.Text, "/") || it.value.Open && it.value.Text == "" {
			r.refuse("a path here is a program", it.value.Text)
		}
	case "git-pager":
		if it.has {
			r.text("git grep -O", it.value)
		} else {
			r.refuse("it starts the pager", it.word.Text)
		}
	default:
		r.apply(it)
	}
}

// gitStrategy reads merge -s: a strategy that git does not have is a program.
func gitStrategy(r *reader, w argv.Word) {
	switch {
	case w.Text == "":
		r.out.Maybe = r.out.Maybe || w.Open
	case r.row.has("known", w.Text):
	case w.Open:
		r.out.Maybe = true
	default:
		r.startWith("git merge -s", []argv.Word{argv.Known("git-merge-" + w.Text)}, nil, true)
	}
}

// readGitSubmodule reads git submodule: foreach has shell text.
func readGitSubmodule(r *reader) {
	rest := r.args[r.next:]
	for i, w := range rest {
		switch {
		case w.Open:
			r.out.Maybe = true
			return
		case strings.HasPrefix(w.Text, "-"):
		case w.Text == "foreach":
			rest = rest[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "-") && !rest[0].Open {
				rest = rest[1:]
			}
			if len(rest) > 0 || r.command.More {
				r.text("git submodule foreach", join(rest, r.command.More))
			}
			return
		default:
			for _, o := range rest[i+1:] {
				gitURL(r, o)
			}
			return
		}
	}
}

// readGitBisect reads git bisect: run has a command.
func readGitBisect(r *reader) {
	rest := r.args[r.next:]
	if len(rest) == 0 {
		return
	}
	switch w := rest[0]; {
	case w.Open:
		r.out.Maybe = true
	case w.Text == "run":
		if len(rest) > 1 && strings.ContainsAny(rest[1].Text, " ;|&$`<>()") {
			r.text("git bisect run", join(rest[1:], r.command.More))
		} else {
			r.start("git bisect run", rest[1:])
		}
	case w.Text == "visualize" || w.Text == "view":
		r.refuse("it starts a viewer", w.Text)
	}
}

// readGitConfig reads git config: what sets is judged by its key.
func readGitConfig(r *reader) {
	var ops []argv.Word
	rename := false
	for it := range r.items {
		rename = rename || it.name == "--rename-section"
		if it.name != "" {
			r.apply(it)
		} else {
			ops = append(ops, it.word)
		}
	}
	if r.idle || len(ops) == 0 {
		return
	}
	switch t := ops[0]; {
	case t.Open:
		r.out.Maybe = true
		return
	case t.Text == "list" || t.Text == "get" || t.Text == "unset" || t.Text == "remove-section":
		return
	case t.Text == "edit":
		r.refuse("it starts an editor", t.Text)
		return
	case t.Text == "set":
		ops = ops[1:]
	case t.Text == "rename-section":
		rename, ops = true, ops[1:]
	}
	if len(ops) >= 2 || r.command.More {
		gitConfigSets(r, ops, rename)
	}
}

// gitConfigSets judges a key and its value, or the new name of a section.
func gitConfigSets(r *reader, ops []argv.Word, rename bool) {
	switch {
	case len(ops) < 2 || ops[0].Open:
		r.out.Maybe = true
	case rename:
		if s, _, _ := strings.Cut(strings.ToLower(ops[1].Text), "."); s != "remote" && s != "branch" {
			r.refuse("a section of this name may start programs", ops[1].Text)
		}
	default:
		key := strings.ToLower(ops[0].Text)
		if strings.Contains(key, "remote.") && strings.HasSuffix(key, "url") {
			gitURL(r, ops[1])
		}
		gitKey(r, ops[0].Text, ops[1])
	}
}
