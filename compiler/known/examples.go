package known

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
)

// maxExampleWords is the largest number of words of one example.
const maxExampleWords = 256

// binaryExamples decides the examples of one program like commands of a script.
func (c *checker) binaryExamples(i int) {
	b, told := &c.shell.Binaries[i], c.Binaries[i]
	decide := func(e Example) (profiles.Decision, bool) {
		cmd, ok := c.read(e)
		if !ok {
			return profiles.Decision{}, false
		}
		called := cmd.Words[0].Text
		if named := path.Base(called) == path.Base(b.Path); !named || strings.Contains(called, "/") &&
			usrMergedPath(called) != usrMergedPath(b.Path) {
			c.report(codeExample, e.Rule, "begin with "+clip(path.Base(b.Path)), "%q is no command of %s", clip(e.Text),
				clip(b.Path))
			return profiles.Decision{}, false
		}
		return c.judge(c.decider, cmd, e)
	}
	for _, e := range told.Match {
		if dec, ok := decide(e); ok && dec.Verdict == profiles.Deny {
			c.disagree(e, dec, "is refused", "correct the rules, or move it to notMatch")
		}
	}
	for _, e := range told.NotMatch {
		if dec, ok := decide(e); ok && dec.Verdict != profiles.Deny {
			verdict := map[profiles.Verdict]string{profiles.Allow: "is let through",
				profiles.Ask: "is allowed once it is approved"}[dec.Verdict]
			c.disagree(e, dec, verdict, "correct the rules, or move it to match")
		}
	}
}

// disagree reports an example that the policy decides differently.
func (c *checker) disagree(e Example, dec profiles.Decision, verdict, hint string) {
	f := c.report(codeExample, e.Rule, hint, "%q %s: %s", clip(e.Text), verdict, dec.Reason)
	if dec.Rule != nil {
		f.Related = []profiles.Rule{*dec.Rule}
	}
}

// patternExamples decides the examples of one denied pattern, as if it were the only one and its program were
// listed.
func (c *checker) patternExamples(i int) {
	p, told := c.shell.DeniedPatterns[i], c.Patterns[i]
	meets := func(e Example) (met, ok bool) {
		cmd, ok := c.read(e)
		if !ok {
			return false, false
		}
		agent := profiles.Agent{Shell: &profiles.Shell{DeniedPatterns: []profiles.Pattern{p}, Pipes: true,
			Redirects: true, Substitution: true}}
		for _, name := range []string{path.Base(p.Words[0]), cmd.Words[0].Text} {
			if !strings.HasPrefix(name, "/") {
				name = "/usr/bin/" + path.Base(name)
			}
			agent.Shell.Binaries = append(agent.Shell.Binaries, profiles.Binary{Path: path.Clean(name),
				Interpreted: IsShell(name)})
		}
		dec, ok := c.judge(profiles.NewDecider(agent, "", profiles.Environment{}), cmd, e)
		return dec.Code == profiles.CodeExecDenied || dec.Code == profiles.CodeShellDenied, ok
	}
	for _, e := range told.Match {
		if met, ok := meets(e); ok && !met {
			c.report(codeExample, e.Rule, "correct the pattern, or move it to notMatch",
				"%q does not match the pattern %q", clip(e.Text), clip(p.Text)).Related = []profiles.Rule{p.Rule}
		}
	}
	for _, e := range told.NotMatch {
		if met, ok := meets(e); ok && met {
			c.report(codeExample, e.Rule, "correct the pattern, or move it to match", "%q matches the pattern %q",
				clip(e.Text), clip(p.Text)).Related = []profiles.Rule{p.Rule}
		}
	}
}

// judge decides one command. It returns false if the command contains a script, which is not interpreted
// here.
func (c *checker) judge(d *profiles.Decider, cmd argv.Command, e Example) (profiles.Decision, bool) {
	dec, j := d.Command(argv.Command(cmd))
	if dec.Verdict != profiles.Deny && (len(j.Scripts) > 0 || j.Stdin != "") {
		c.report(codeExample, e.Rule, "write the inner command as a separate example",
			"%q contains a script, which is not checked here", clip(e.Text))
		return dec, false
	}
	return dec, true
}

// read parses an example: words, quoted if they hold characters special to a shell, and leading variables.
func (c *checker) read(e Example) (argv.Command, bool) {
	list, why := fields(e.Text)
	if why == "" && len(list) > maxExampleWords {
		why = "has more words than one example may have"
	}
	var cmd argv.Command
	for i, w := range list {
		name, value, set := strings.Cut(w, "=")
		if set && len(cmd.Set) == i && variable(name) {
			cmd.Set = append(cmd.Set, argv.Assignment{Name: name, Value: argv.Known(value)})
			continue
		}
		cmd.Words = append(cmd.Words, argv.Known(w))
	}
	if why == "" && len(cmd.Words) == 0 {
		why = "has no command"
	}
	if why != "" {
		c.report(codeExample, e.Rule, `an example is one command, such as git commit -m "one word"`, "%q %s",
			clip(e.Text), why)
		return argv.Command{}, false
	}
	return cmd, true
}

func variable(name string) bool {
	for i := range len(name) {
		if b := name[i]; b != '_' && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return name != ""
}

// fields splits a plain command into words like a shell. It rejects text that a shell would expand.
func fields(text string) (out []string, why string) {
	if strings.ContainsAny(text, "\n\r\x00") {
		return nil, "has more than one line"
	}
	var word strings.Builder
	begun, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote == '\'' && b != '\'':
			word.WriteByte(b)
		case b == quote && quote != 0:
			quote = 0
		case quote == 0 && (b == '\'' || b == '"'):
			quote, begun = b, true
		case b == '\\':
			if i++; i == len(text) {
				return nil, "ends in a backslash"
			}
			if quote != 0 && !strings.ContainsRune("\"\\$`", rune(text[i])) {
				word.WriteByte(b)
			}
			word.WriteByte(text[i])
			begun = true
		case b == '$' || b == '`':
			return nil, "holds " + string(b) + ", which a script would replace"
		case quote != 0:
			word.WriteByte(b)
		case b == ' ' || b == '\t':
			if begun {
				out = append(out, word.String())
			}
			begun = false
			word.Reset()
		case isSpecial(text[i:], begun):
			return nil, "holds " + string(b) + ", which has a special meaning in a script: put it in quotes"
		default:
			word.WriteByte(b)
			begun = true
		}
	}
	if quote != 0 {
		return nil, "has a quote without an end"
	}
	if begun {
		out = append(out, word.String())
	}
	return out, ""
}

// isSpecial reports whether a text starts with a character that a shell interprets, in a word that has begun or not.
func isSpecial(text string, begun bool) bool {
	switch b := text[0]; b {
	case '#', '~':
		return !begun
	case '{':
		return !strings.HasPrefix(text, "{}")
	default:
		return strings.IndexByte("|&;<>()*?[", b) >= 0
	}
}
