package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// readGit reads git: settings in front of the sub-command, then what of it starts.
func readGit(r *buildReader) {
	r.Row.Flags = data | exact
	r.Row.Opts = "-C= -c=k --config-env=K --exec-path?! --git-dir=d --work-tree=d --namespace= --super-prefix= --attr-source= --list-cmds=~ -p,--paginate -P,--no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --html-path,--man-path,--info-path~ -v,--version~ -h,--help~"
	var aliases []argv.Word
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Effect == "k":
			if a, is := r.gitSetting(it.Value); is {
				aliases = append(aliases, a)
			}
		case it.Effect == "K":
			key, _, _ := strings.Cut(it.Value.Text, "=")
			if GitKey(key, "", false) != GitKeySafe {
				r.Refuse("git's setting comes from a variable, and the key can start programs", it.Value.Text)
			}
		case it.Effect == "d":
			if worldWritable(it.Value.Text) {
				r.Refuse("a repository where everybody writes may start programs by its settings", it.Value.Text)
			}
		case it.Effect == "!" && !it.Has: // --exec-path alone tells
		case it.Unknown:
			r.Refuse("an option of git that is not known", it.Word.Text)
		case it.Name != "":
			r.Apply(it)
		case r.Lost || it.Word.Open:
			r.Out.Maybe = true
			return
		default:
			if !r.Idle {
				r.gitSub(it.Word.Text, aliases)
			}
			return
		}
	}
}

func worldWritable(p string) bool {
	for _, at := range []string{"/tmp", "/var/tmp", "/dev", "/proc", "/run", "/sys"} {
		if p == at || strings.HasPrefix(p, at+"/") {
			return true
		}
	}
	return false
}

// gitSetting judges -c KEY=VALUE; an alias comes back as NAME=WORDS.
func (r *buildReader) gitSetting(w argv.Word) (alias argv.Word, is bool) {
	key, value, has := strings.Cut(w.Text, "=")
	if w.Open && !has {
		r.Out.Maybe = true
		return w, false
	}
	if !has {
		value = "true"
	}
	if r.gitKey(key, argv.Word{Text: value, Open: w.Open}) == gitKeyAlias {
		return argv.Word{Text: strings.TrimPrefix(strings.ToLower(key), "alias.") + "=" + value, Open: w.Open}, true
	}
	return w, false
}

func (r *buildReader) gitKey(key string, value argv.Word) gitKeyKind {
	kind := GitKey(key, value.Text, !value.Open)
	if to := rewritesGitKey(key); to != "" {
		r.gitURL(argv.Known(to))
	}
	switch kind {
	case GitKeySafe:
	case gitKeyAlias:
		if ws, ok := Split(value.Text); ok {
			r.StartWith("git alias", append([]argv.Word{argv.Known("git")}, ws...), nil, true)
		} else {
			r.Refuse("the words of the alias cannot be read", key)
		}
	case gitKeyUnknown:
		r.Refuse("a setting that is not known not to start programs", key)
	case gitKeyStarts:
		if value.Open && GitKey(key, "", true) == GitKeySafe {
			r.Out.Maybe = true
			return kind
		}
		r.Refuse("by this setting git starts a program, or reads more settings", key)
	}
	return kind
}

// gitURL refuses addresses that git reaches by a program they name.
func (r *buildReader) gitURL(w argv.Word) {
	t := w.Text
	before, _, helper := strings.Cut(t, "::")
	switch {
	case helper && before != "" && strings.Trim(strings.ToLower(before), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == "":
		r.Refuse("git reaches this address by a program", t)
	case strings.Contains(t, "://-"), strings.HasPrefix(t, "-") && strings.Contains(t, "ProxyCommand"), strings.Contains(t, "@-o"):
		r.Refuse("an address with options of ssh in it", t)
	case w.Open && !strings.Contains(t, ":") && !strings.Contains(t, "/") && !strings.Contains(t, "-"):
		r.Out.Maybe = r.Out.Maybe || !w.Fed
	}
}

// gitSub reads a sub-command.
func (r *buildReader) gitSub(sub string, aliases []argv.Word) {
	for _, a := range aliases {
		name, value, _ := strings.Cut(a.Text, "=")
		if name != strings.ToLower(sub) || gitKnown(sub) {
			continue
		}
		if ws, ok := Split(value); ok && !a.Open {
			r.StartWith("git "+sub, append(append([]argv.Word{argv.Known("git")}, ws...), r.Args[r.I:]...), nil, r.C.More)
		}
		return
	}
	opts, dangerous := gitOptions(sub)
	switch {
	case sub == "config":
		r.gitConfig()
		return
	case sub == "submodule":
		r.gitSubmodule()
		return
	case sub == "bisect":
		r.gitBisect()
		return
	case sub == "for-each-repo":
		r.Refuse("it runs git in many folders, whose settings may start programs", sub)
		return
	case dangerous:
		r.Row.Opts, r.Row.Flags = opts, data
		r.gitPlain(sub)
		return
	case gitKnown(sub):
		return
	case gitStarts(sub):
		r.Refuse("this part of git starts other programs, or serves what does", sub)
		return
	}
	// An alias of the repository, or a program of the name git-SUB.
	if sub == "lfs" || sub == "subtree" || sub == "absorb" || sub == "flow" || sub == "filter-repo" || sub == "annex" || sub == "crypt" || sub == "secret" || sub == "town" || sub == "extras" {
		r.StartWith("git", append([]argv.Word{argv.Known("git-" + sub)}, r.Args[r.I:]...), nil, r.C.More)
		return
	}
	r.Refuse("git has no such sub-command: it would be an alias or a program git-"+sub, sub)
}

// gitPlain reads the options of a sub-command and the addresses among its operands.
func (r *buildReader) gitPlain(sub string) {
	tool := false
	first := true
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case it.Effect == "k":
			r.gitSetting(it.Value)
		case it.Effect == "m":
			r.gitStrategy(it.Value)
		case it.Effect == "U":
			r.gitURL(it.Value)
		case it.Effect == "/":
			if strings.HasPrefix(it.Value.Text, "/") || it.Value.Open && it.Value.Text == "" {
				r.Refuse("a path here is a program", it.Value.Text)
			}
		case it.Effect == "O":
			if it.Has {
				r.Text("git grep -O", it.Value)
			} else {
				r.Refuse("it starts the pager", it.Word.Text)
			}
		case it.Effect == "x":
			tool = true
			r.Text("git difftool -x", it.Value)
		case it.Name == "--tool-help":
			tool = true
		case it.Name != "":
			r.Apply(it)
		default:
			if first && (sub == "hook" || sub == "maintenance" || sub == "fsmonitor--daemon") && (it.Word.Text == "run" && sub == "hook" || it.Word.Text == "start" || it.Word.Text == "register") {
				r.Refuse("it starts hooks, or work in the background", it.Word.Text)
			}
			first = false
			if gitAddresses(sub) {
				r.gitURL(it.Word)
			}
		}
	}
	if (sub == "difftool" || sub == "mergetool") && !tool && !r.Idle {
		r.Refuse("it starts the tool that the settings name", sub)
	}
}

func (r *buildReader) gitStrategy(w argv.Word) {
	switch w.Text {
	case "ort", "recursive", "resolve", "octopus", "ours", "subtree":
	case "":
		r.Out.Maybe = r.Out.Maybe || w.Open
	default:
		if w.Open {
			r.Out.Maybe = true
			return
		}
		r.StartWith("git merge -s", []argv.Word{argv.Known("git-merge-" + w.Text)}, nil, true)
	}
}

func gitAddresses(sub string) bool {
	switch sub {
	case "clone", "fetch", "pull", "push", "ls-remote", "remote", "fetch-pack", "send-pack", "archive", "request-pull", "submodule":
		return true
	default:
		return false
	}
}

// gitOptions are the options of sub-commands that can start programs, with those
// that have values.
func gitOptions(sub string) (opts string, some bool) {
	merge := " -s,--strategy=m -X,--strategy-option= -m= -F,--file= -S? --log? --cleanup= --into-name= --onto= -C= --whitespace= --empty= -r? -x,--exec=s --gpg-sign? --rebase-merges? --autostash --continue --abort --skip --no-commit --no-edit --no-ff --squash --ff-only --edit -n -i,--interactive"
	list := " --ext-diff! --textconv! -G= -S= -O= -L= -n,--max-count= --format= --pretty? --since= --until= --author= --committer= --grep= --date= --stat? -U,--unified= --output= --diff-filter= --word-diff? --color? -M? -C? -B? -l= --src-prefix= --dst-prefix= --inter-hunk-context= --skip= -s,--no-patch -p,--patch -i -E -F -P -c -m -t --name-only --no-ext-diff --no-textconv --cc --decorate? --graph --oneline --abbrev? --relative? --raw --exit-code --quiet --cached --staged --all --not --text --binary --show-signature --no-index"
	switch sub {
	case "clone":
		return "-c,--config=k --template=! -u,--upload-pack=! -o,--origin= -b,--branch= --depth= -j,--jobs= --reference= --reference-if-able= --separate-git-dir= --filter= --server-option= --shallow-since= --shallow-exclude= --bundle-uri=U --recurse-submodules? --ref-format= --revision= -l,--local -s,--shared -n,--no-checkout -q,--quiet -v,--verbose --bare --mirror --single-branch --no-tags --progress --sparse --dissociate --also-filter-submodules", true
	case "init", "init-db":
		return "--template=! -b,--initial-branch= --separate-git-dir= --object-format= --ref-format= --shared? -q,--quiet --bare", true
	case "fetch":
		return "--upload-pack=! -o,--server-option= --depth= --deepen= -j,--jobs= --refmap= --shallow-since= --shallow-exclude= --negotiation-tip= --filter= --recurse-submodules? --submodule-prefix= --recurse-submodules-default= --refetch --unshallow -u,--update-head-ok --update-shallow -a,--append -p,--prune -P -t,--tags -f,--force -k -n -q -v --all --multiple --dry-run", true
	case "pull":
		return "--upload-pack=! -o,--server-option= --depth= --deepen= -j,--jobs= --refmap= --shallow-since= --shallow-exclude= --negotiation-tip= --filter= --recurse-submodules? -r,--rebase? --unshallow -p,--prune -t,--tags -f,--force -q -v -a --all --dry-run -e,--edit --ff" + strings.Replace(strings.Replace(merge, " -r?", "", 1), " -x,--exec=s", "", 1), true
	case "push":
		return "--receive-pack=! --exec=! -o,--push-option= --repo=U --force-with-lease? --signed? --recurse-submodules= -u,--set-upstream -f,--force -d,--delete -n,--dry-run --force-if-includes --follow-tags --all --tags --mirror --prune --atomic --no-verify --porcelain --progress -q -v", true
	case "ls-remote", "fetch-pack", "send-pack":
		return "--upload-pack=! --receive-pack=! --exec=! -o,--server-option= --sort= --depth= -q -t,--tags -h,--heads --refs --symref --get-url --exit-code --keep --thin --all", true
	case "remote":
		return "-t= -m= -f --tags --no-tags --mirror? -v,--verbose --push --add --delete --all -n -p", true
	case "archive":
		return "--exec=! --remote=U -o,--output= --format= --prefix= --add-file= --add-virtual-file= --mtime= -l,--list -v,--verbose", true
	case "rebase":
		return merge + " --root --autosquash --keep-base --fork-point --update-refs --reapply-cherry-picks --signoff --committer-date-is-author-date --quit --show-current-patch --edit-todo --apply --merge -f -q -v -k -p", true
	case "merge", "cherry-pick", "revert":
		return strings.Replace(merge, " -x,--exec=s", "", 1) + " -x -e -m= --mainline= --signoff --allow-empty --quit --stat --verify-signatures", true
	case "grep":
		return "-O,--open-files-in-pager?O -e= -f= -A,--after-context= -B,--before-context= -C,--context= -m,--max-count= --max-depth= --threads= --color? --ext-grep! --textconv! -h -H -i -I -l -L -n -o -p -q -r -v -w -W -z -c -E -F -G -P -a --no-index --untracked --cached --recurse-submodules --and --or --not --all-match --break --heading --count --line-number --ignore-case", true
	case "diff", "log", "show", "diff-tree", "diff-index", "diff-files", "whatchanged", "format-patch", "blame", "annotate", "cat-file", "rev-list", "stash", "reflog", "range-diff", "shortlog":
		return list, true
	case "difftool":
		return "-x,--extcmd=x -t,--tool= --tool-help -d,--dir-diff -g,--gui -y,--no-prompt --prompt --trust-exit-code --symlinks -h,--help~", true
	case "mergetool":
		return "-t,--tool= --tool-help -g,--gui -y,--no-prompt --prompt -O= -h,--help~", true
	case "send-email":
		return "--sendmail-cmd=! --smtp-server=/ --to-cmd=! --cc-cmd=! --header-cmd=! --compose! --annotate! --to= --cc= --bcc= --from= --subject= --in-reply-to= --smtp-user= --smtp-pass= --smtp-server-port= --smtp-encryption= --confirm= --suppress-cc= --identity= --dry-run --relogin-delay= --batch-size=", true
	case "help":
		return "-w,--web! -i,--info! -a,--all -g,--guides -c,--config -m,--man -v", true
	case "hook", "maintenance":
		return "--to-stdin= --schedule? --task= --auto --quiet --ignore-missing", true
	default:
		return "", false
	}
}

// gitStarts are parts of git that start other programs by design.
func gitStarts(sub string) bool {
	switch sub {
	case "filter-branch", "instaweb", "gui", "citool", "gitk", "web--browse", "daemon", "shell", "p4", "svn", "archimport", "cvsimport", "cvsexportcommit", "cvsserver", "http-backend", "imap-send", "quiltimport",
		"credential", "credential-cache", "credential-store", "credential-cache--daemon", "credential-osxkeychain", "credential-libsecret", "remote-ext", "remote-fd", "remote-http", "remote-https", "upload-pack", "receive-pack", "upload-archive",
		"merge-index", "merge-one-file", "sh-setup", "sh-i18n", "difftool--helper", "mergetool--lib", "fsmonitor--daemon", "submodule--helper", "rebase--interactive", "add--interactive", "scalar", "http-push", "checkout--worker", "env--helper":
		return true
	default:
		return false
	}
}

// gitSubmodule reads git submodule: foreach has shell text.
func (r *buildReader) gitSubmodule() {
	rest := r.Args[r.I:]
	for i, w := range rest {
		switch {
		case w.Open:
			r.Out.Maybe = true
			return
		case strings.HasPrefix(w.Text, "-"):
		case w.Text == "foreach":
			rest = rest[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "-") && !rest[0].Open {
				rest = rest[1:]
			}
			if len(rest) > 0 || r.C.More {
				r.Text("git submodule foreach", Join(rest, r.C.More))
			}
			return
		default:
			for _, o := range rest[i+1:] {
				r.gitURL(o)
			}
			return
		}
	}
}

// gitBisect reads git bisect: run has a command.
func (r *buildReader) gitBisect() {
	rest := r.Args[r.I:]
	if len(rest) == 0 {
		return
	}
	switch w := rest[0]; {
	case w.Open:
		r.Out.Maybe = true
	case w.Text == "run":
		if len(rest) > 1 && strings.ContainsAny(rest[1].Text, " ;|&$`<>()") {
			r.Text("git bisect run", Join(rest[1:], r.C.More))
		} else {
			r.Start("git bisect run", rest[1:])
		}
	case w.Text == "visualize" || w.Text == "view":
		r.Refuse("it starts a viewer", w.Text)
	}
}

// gitConfig reads git config: what sets is judged by its key.
func (r *buildReader) gitConfig() {
	r.Row.Opts = "-f,--file= --blob= --type= -t= --default= --value= --url= --comment= --global --system --local --worktree --bool --int --bool-or-int --bool-or-str --path --expiry-date --no-type -z,--null --name-only --show-origin --show-scope --show-names --includes --no-includes --fixed-value --all --regexp --append --get,--get-all,--get-regexp,--get-urlmatch,--get-color,--get-colorbool,-l,--list,--unset,--unset-all,--remove-section~ --rename-section -e,--edit! --add --replace-all"
	r.Row.Flags = 0
	var ops []argv.Word
	rename := false
	for {
		it, ok := r.Next()
		if !ok {
			break
		}
		rename = rename || it.Name == "--rename-section"
		if it.Name != "" {
			r.Apply(it)
		} else {
			ops = append(ops, it.Word)
		}
	}
	if r.Idle || len(ops) == 0 {
		return
	}
	switch t := ops[0]; {
	case t.Open:
		r.Out.Maybe = true
		return
	case t.Text == "list" || t.Text == "get" || t.Text == "unset" || t.Text == "remove-section":
		return
	case t.Text == "edit":
		r.Refuse("it starts an editor", t.Text)
		return
	case t.Text == "set":
		ops = ops[1:]
	case t.Text == "rename-section":
		rename, ops = true, ops[1:]
	}
	switch {
	case len(ops) < 2 && !r.C.More:
	case len(ops) < 2 || ops[0].Open:
		r.Out.Maybe = true
	case rename:
		if s, _, _ := strings.Cut(strings.ToLower(ops[1].Text), "."); s != "remote" && s != "branch" {
			r.Refuse("a section of this name may start programs", ops[1].Text)
		}
	default:
		if strings.Contains(strings.ToLower(ops[0].Text), "remote.") && strings.HasSuffix(strings.ToLower(ops[0].Text), "url") {
			r.gitURL(ops[1])
		}
		r.gitKey(ops[0].Text, ops[1])
	}
}

// gitKnown reports whether git has the sub-command itself, and starts no other
// program for it but what the repository's settings and hooks say.
func gitKnown(sub string) bool {
	switch sub {
	case "add", "am", "annotate", "apply", "archive", "blame", "branch", "bundle", "bugreport", "cat-file", "check-attr", "check-ignore",
		"check-mailmap", "check-ref-format", "checkout", "checkout-index", "cherry", "cherry-pick", "clean", "clone", "column", "config",
		"commit", "commit-graph", "commit-tree", "count-objects", "describe", "diagnose", "diff", "diff-files", "diff-index", "diff-pairs", "diff-tree", "difftool", "fast-export", "fast-import",
		"fetch", "fetch-pack", "fmt-merge-msg", "for-each-ref", "format-patch", "fsck", "gc", "get-tar-commit-id", "grep", "hash-object", "help", "hook", "init", "init-db",
		"index-pack", "interpret-trailers", "last-modified", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo", "mailsplit", "maintenance", "merge", "merge-base",
		"merge-file", "merge-tree", "mergetool", "mktag", "mktree", "multi-pack-index", "mv", "name-rev", "notes", "pack-objects", "pack-redundant", "pack-refs", "patch-id", "prune", "prune-packed",
		"pull", "push", "range-diff", "read-tree", "rebase", "reflog", "refs", "remote", "repack", "replace", "replay", "repo", "request-pull", "rerere", "reset", "restore",
		"rev-list", "rev-parse", "revert", "rm", "send-email", "send-pack", "shortlog", "show", "show-branch", "show-index", "show-ref",
		"sparse-checkout", "stage", "stash", "status", "stripspace", "submodule", "bisect", "switch", "symbolic-ref", "tag", "unpack-file", "unpack-objects", "update-index",
		"update-ref", "update-server-info", "var", "verify-commit", "verify-pack", "verify-tag", "version", "whatchanged", "worktree", "write-tree", "backfill":
		return true
	default:
		return false
	}
}
