package argv

import "strings"

// Other spellings of operands make denied patterns match more. They are not a security boundary: the list of
// programs is.

// isNoSub reports whether a first operand is not a sub-command: a toolchain of cargo, or a word before the
// program that a launcher starts.
func (t *tool) isNoSub(base, word string) bool {
	switch {
	case t.reader == "docker":
		return word == ""
	case t.reader == "cargo":
		return word == "" || word[0] == '+'
	case t.subs == launchedSubs:
		return word == "" || base == "env" && strings.Contains(word, "=") ||
			base == "timeout" && strings.Trim(word, "0123456789.smhd") == ""
	default:
		return false
	}
}

// together returns the sub-command that two words name: docker container run is docker run.
func (t *tool) together(one, two string) string {
	if t.reader == "docker" {
		return dockerCommand(one, two)
	}
	return one
}

// dockerCommand returns the short form of a docker command with two spellings.
func dockerCommand(one, two string) string {
	if two == "" {
		return one
	}
	switch one {
	case "container":
		if two == "prune" || two == "inspect" {
			return one
		}
		return two
	case "image":
		switch two {
		case "rm", "remove":
			return "rmi"
		case "ls", "list":
			return "images"
		case "build", "push", "pull", "tag", "save", "load", "import", "history":
			return two
		}
	case "builder", "buildx":
		if two == "build" {
			return two
		}
	}
	return one
}

// implied returns the option that an operand implies. For git push a leading + forces, and an empty source
// deletes.
func (t *tool) implied(w *Words, x Word) string {
	if t.reader != "git" || len(w.operands) == 0 || w.operands[0].word.Text != "push" || x.Text == "" {
		return ""
	}
	switch {
	case x.Text[0] == '+':
		return "force"
	case x.Text[0] == ':' && (len(x.Text) > 1 || x.Open):
		return "delete"
	default:
		return ""
	}
}

// respells reports whether operands may have several spellings.
func (t *tool) respells() bool { return t.reader == "modes" || t.reader == "kinds" }

// sameOperand reports whether an operand is another spelling of one of a pattern. If open is true, only the
// beginning of it is known.
func (t *tool) sameOperand(at int, want, have string, open bool) bool {
	if t.reader == "modes" {
		return sameMode(at, want, have, open)
	}
	return sameKind(at, want, have, open)
}

// sameMode ignores leading zeros of a mode.
func sameMode(at int, want, have string, open bool) bool {
	digits := func(w string) bool { return strings.Trim(w, "01234567") == "" }
	want, have = strings.TrimLeft(want, "0"), strings.TrimLeft(have, "0")
	if at > 0 || !digits(want) || !digits(have) {
		return false
	}
	return open && strings.HasPrefix(want, have) || want == have && want != ""
}

// sameKind knows the short names of Kubernetes kinds, singular and plural, in any case, alone or with the
// name of an object.
func sameKind(at int, want, have string, open bool) bool {
	if at == 0 {
		return false
	}
	if open {
		return !strings.Contains(have, "/") || kindOf(have) == kindOf(want)
	}
	for one := range strings.SplitSeq(have, ",") {
		if kindOf(one) == kindOf(want) {
			return true
		}
	}
	return false
}

func kindOf(w string) string {
	kind, _, _ := strings.Cut(strings.ToLower(w), "/")
	kind, _, _ = strings.Cut(kind, ".")
	kind = pick(kind, aliasesOf("kubectl:kinds"))
	if len(kind) > 3 && !strings.HasSuffix(kind, "ss") {
		kind = strings.TrimSuffix(kind, "s")
	}
	return kind
}

// aliasesOf returns the aliases in a row that is not a program.
func aliasesOf(name string) string {
	all, err := embedded()
	if err != nil || all[name] == nil {
		return ""
	}
	return all[name].aliases
}

// pick returns the replacement of w in a line of "from=to" words, or w.
func pick(w, line string) string {
	for pair := range strings.SplitSeq(line, " ") {
		if from, to, _ := strings.Cut(pair, "="); from == w {
			return to
		}
	}
	return w
}

// signal returns the number of a signal for any of its names.
func signal(name string) (string, bool) {
	if name != "" && strings.Trim(name, "0123456789") == "" {
		if n := strings.TrimLeft(name, "0"); n != "" {
			return n, true
		}
		return "0", true
	}
	if len(name) < 3 {
		return "", false
	}
	short := strings.TrimPrefix(strings.ToUpper(name), "SIG")
	n := pick(short, aliasesOf("kill:signals"))
	return n, n != short
}
