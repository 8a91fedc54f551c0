package convert

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ringd/ringd/schema"
)

// claude converts settings.json of Claude Code. In the settings, an allow rule lets a tool run at once. With an
// ask rule or without a rule, a person is asked first. In the policy, everything that is not granted is denied.
func (d *draft) claude(text []byte) error {
	all, err := object(text, "Claude Code")
	if err != nil {
		return err
	}
	perms, err := part[map[string]json.RawMessage](all, "permissions", "permissions")
	if err != nil {
		return err
	}
	d.network()
	d.constructs(false)
	d.line("(scripts)", "", Stricter, "pipes are allowed, redirects and substitution are not: set allowRedirects and "+
		"allowSubstitution if they are wanted")
	d.files().Read = append(d.files().Read, workspace)
	d.line("(reads)", workspace, Exact, "files of the working folder are read without asking")
	if err := d.claudeHooks(all); err != nil {
		return err
	}
	if err := d.claudeRules(perms); err != nil {
		return err
	}
	folders, err := part[[]string](perms, "additionalDirectories", "permissions.additionalDirectories")
	if err != nil {
		return err
	}
	for i, p := range folders {
		d.grantPath(fmt.Sprintf("permissions.additionalDirectories[%d]", i), p, p, false)
	}
	mode, err := part[string](perms, "defaultMode", "permissions.defaultMode")
	if err != nil {
		return err
	}
	switch mode {
	case "", "default", "plan", "dontAsk":
	default:
		d.line("permissions.defaultMode", mode, Left, "ringd runs only what is granted")
	}
	d.reportRest(perms, "permissions", "not part of a policy")
	env, err := part[map[string]string](all, "env", "env")
	if err != nil {
		return err
	}
	d.environment("env", env)
	if err := d.claudeSandbox(all); err != nil {
		return err
	}
	d.reportRest(all, "", "not part of a policy")
	return nil
}

// claudeSandbox converts the section sandbox: its hosts, and its denials of files. Its grants of files are not
// converted, because in the policy programs write where the permissions allow edits.
func (d *draft) claudeSandbox(all map[string]json.RawMessage) error {
	box, err := part[map[string]json.RawMessage](all, "sandbox", "sandbox")
	if err != nil || box == nil {
		return err
	}
	if err := d.srtNetwork(box, "sandbox"); err != nil {
		return err
	}
	if err := d.srtCredentials(box, "sandbox"); err != nil {
		return err
	}
	fs, err := part[map[string]json.RawMessage](box, "filesystem", "sandbox.filesystem")
	if err != nil {
		return err
	}
	for _, name := range []string{"denyRead", "denyWrite"} {
		at := "sandbox.filesystem." + name
		list, err := part[[]string](fs, name, at)
		if err != nil {
			return err
		}
		for i, p := range list {
			d.denyPath(fmt.Sprintf("%s[%d]", at, i), p, p, name == "denyRead", name == "denyWrite")
		}
	}
	for _, name := range sortedKeys(fs) {
		d.line("sandbox.filesystem."+name, "", Left, "programs write where permissions allow edits of files")
	}
	for _, name := range sortedKeys(box) {
		switch name {
		case "enabled":
			d.line("sandbox.enabled", "", Exact, "ringd runs every program in a guest")
		default:
			d.line("sandbox."+name, "", Left, "ringd runs no program outside of its guest")
		}
	}
	return nil
}

// claudeRules converts the three lists of permissions. Denials come first, so that their effect on the grants
// is known.
func (d *draft) claudeRules(perms map[string]json.RawMessage) error {
	for _, list := range []string{"deny", "ask", "allow"} {
		at := "permissions." + list
		rules, err := part[[]string](perms, list, at)
		if err != nil {
			return err
		}
		for i, rule := range rules {
			d.claudeRule(fmt.Sprintf("%s[%d]", at, i), list, rule)
		}
	}
	return nil
}

func (d *draft) claudeRule(at, list, rule string) {
	tool, spec, bounded := strings.Cut(strings.TrimSpace(rule), "(")
	if bounded {
		spec = strings.TrimSuffix(spec, ")")
	}
	switch tool = strings.TrimSpace(tool); {
	case list != "allow" && strings.ContainsAny(tool, "*?["):
		d.withoutTools(at, rule, "a pattern of tools: their actions are not granted", func(name string) bool {
			is, err := path.Match(tool, name)
			return is || err != nil
		})
		return
	}
	switch tool {
	case "Bash":
		d.claudeBash(at, list, rule, spec)
	case "Read", "Edit", "Write", "MultiEdit", "NotebookEdit":
		d.claudeFile(at, list, rule, spec, tool != "Read")
	case "WebFetch":
		host, is := strings.CutPrefix(spec, "domain:")
		if list == "deny" && is {
			d.host(at, strings.ToLower(host), true)
			return
		}
		d.reportHarnessTool(at, list, rule)
	default:
		d.reportHarnessTool(at, list, rule)
	}
}

// claudeHooks handles hooks that can deny a tool before it runs. Only the hook knows which calls it denies, so
// such a tool is not granted.
func (d *draft) claudeHooks(all map[string]json.RawMessage) error {
	hooks, err := part[map[string]json.RawMessage](all, "hooks", "hooks")
	if err != nil {
		return err
	}
	off, err := part[bool](all, "disableAllHooks", "disableAllHooks")
	if err != nil {
		return err
	}
	type matched struct {
		Matcher string `json:"matcher"`
	}
	if hooks != nil && len(hooks) == 0 {
		d.line("hooks", "", NoPolicy, "there is none")
	}
	for _, event := range sortedKeys(hooks) {
		at := "hooks." + event
		if event != "PreToolUse" || off {
			d.line(at, "", NoPolicy, "refuses no program anything")
			continue
		}
		list, err := part[[]matched](hooks, event, at)
		if err != nil {
			return err
		}
		for i, m := range list {
			is, err := regexp.Compile(m.Matcher)
			every := err != nil || m.Matcher == "" || m.Matcher == "*"
			d.withoutTools(fmt.Sprintf("%s[%d]", at, i), m.Matcher,
				"a program that may refuse the tools: their actions are not granted",
				func(name string) bool { return every || is.MatchString(name) })
		}
	}
	return nil
}

// withoutTools grants nothing that certain built-in tools would do.
func (d *draft) withoutTools(at, value, why string, named func(tool string) bool) {
	if named("Bash") {
		d.removePrograms()
	}
	reads := named("Read")
	writes := reads || slices.ContainsFunc([]string{"Edit", "Write", "MultiEdit", "NotebookEdit"}, named)
	d.noRead, d.noWrite = d.noRead || reads, d.noWrite || writes
	d.line(at, value, Stricter, why)
}

// reportHarnessTool reports a rule about a tool of the harness that is not a program.
func (d *draft) reportHarnessTool(at, list, rule string) {
	if list == "deny" {
		d.line(at, rule, Exact, "a tool of the harness: there is no bridge for it")
		return
	}
	d.line(at, rule, Left, "a tool of the harness; grant it as a bridge, with its powers")
}

// claudeFile converts a rule about files. An allow rule must name a whole folder.
func (d *draft) claudeFile(at, list, rule, spec string, writes bool) {
	p, whole := strings.CutSuffix(spec, "/**")
	switch {
	case strings.HasPrefix(spec, "//"):
		p = "/" + strings.TrimLeft(p, "/") // of the host
	case strings.HasPrefix(p, "/"):
		p = d.cfg.root() + p // below the folder of the settings
	case !strings.Contains(strings.TrimRight(spec, "/"), "/") && spec != "":
		p = "**/" + spec // a bare name matches at every depth
	}
	switch list {
	case "deny":
		if spec == "" {
			p = "*"
		}
		d.denyPath(at, rule, p, !writes, true) // a file that may not be read may not be edited
	case "ask":
		d.line(at, rule, Left, "ringd cannot ask about a file; it is not granted")
		if out, why := folder(p, workspace); why == "" {
			d.files().Deny = append(d.files().Deny, out)
		} else {
			d.noRead, d.noWrite = d.noRead || !writes, true
		}
	default:
		if !whole {
			d.line(at, rule, Left, "a rule of a policy covers a folder whole: write /** behind it")
			return
		}
		d.grantPath(at, rule, p, writes)
	}
}

// grantPath grants a folder.
func (d *draft) grantPath(at, value, p string, writes bool) {
	out, why := folder(p, workspace)
	if why == "" {
		why = cannotGrant(out)
	}
	if why != "" {
		d.line(at, value, Left, why)
		return
	}
	f := d.files()
	if writes {
		f.Write = append(f.Write, out)
	} else {
		f.Read = append(f.Read, out)
	}
	d.line(at, value, Exact, "")
}

// claudeBash converts a rule about commands. words:* and "words *" mean every command that begins with the
// words.
func (d *draft) claudeBash(at, list, rule, spec string) {
	words, open := strings.CutSuffix(spec, ":*")
	if !open {
		words, open = strings.CutSuffix(spec, " *")
	}
	if bare := bareCommand(words); bare != words && bare != "" && list != "allow" {
		words, open = bare, false // the command, with or without that variable
	}
	switch {
	case spec == "" || spec == "*":
		if list == "deny" {
			d.line(at, rule, Exact, "no program is granted")
			d.removePrograms()
			return
		}
		if list == "ask" {
			d.line(at, rule, Stricter, "the settings ask about every command, and ringd can ask only about "+
				"sub-commands of a program: no program is granted")
			d.removePrograms()
			return
		}
		d.line(at, rule, Left, "it starts any program; list programs in spec.executors.shell.binaries")
	case !plainWords.MatchString(words) || bareCommand(words) == "":
		if list == "allow" {
			d.line(at, rule, Left, "a pattern over a command's text; a policy lists programs and their first words")
			return
		}
		d.line(at, rule, Stricter, "a pattern over a command's text, which no rule can express: no program is granted")
		d.removePrograms()
	case list == "deny":
		d.denyCommand(at, rule, words, open)
	case d.barred():
		d.line(at, rule, Left, "a denial above refuses every program")
	case list == "ask" && (!open || !askable(words)):
		d.denyCommand(at, rule, words, false)
	case !open:
		d.line(at, rule, Left, "one command with exactly these words; a policy lists first words: "+
			strings.Fields(words)[0]+" and its sub-commands")
	default:
		d.grantCommand(at, list, rule, strings.Fields(words))
	}
}

// bareCommand removes the variables before a command. Rules of a policy begin with the command, and one that
// began with a variable would match nothing.
func bareCommand(words string) string {
	list := strings.Fields(words)
	for len(list) > 0 && strings.Contains(list[0], "=") {
		list = list[1:]
	}
	return strings.Join(list, " ")
}

// askable reports whether commands that begin with words can need an approval: those with a sub-command.
func askable(words string) bool {
	list := strings.Fields(words)
	return len(list) > 1 && !slices.ContainsFunc(list[1:], func(w string) bool { return strings.HasPrefix(w, "-") })
}

// removePrograms removes every program, and no program can be added later.
func (d *draft) removePrograms() {
	d.policy.Spec.Executors.Allowed = []string{}
	d.policy.Spec.Executors.Shell = nil
}

func (d *draft) barred() bool { return len(d.policy.Spec.Executors.Allowed) == 0 }

func (d *draft) denyCommand(at, rule, words string, open bool) {
	if d.barred() {
		d.line(at, rule, Exact, "no program is granted")
		return
	}
	s := d.shell()
	if !slices.ContainsFunc(s.DenyPatterns, func(p schema.DenyPattern) bool { return p.Pattern == words }) {
		s.DenyPatterns = append(s.DenyPatterns, schema.DenyPattern{
			Pattern: words, Kind: "argv", Reason: "of the setting " + rule})
	}
	if open {
		d.line(at, rule, Exact, "")
		return
	}
	d.line(at, rule, Stricter, "the command is refused with any arguments")
}

// grantCommand grants a program with the allowed first words.
func (d *draft) grantCommand(at, list, rule string, words []string) {
	if d.cfg.Find == nil || strings.Contains(words[0], "/") {
		d.line(at, rule, Left, "the file of the program is not known")
		return
	}
	file, ok := d.cfg.Find(words[0])
	switch {
	case !ok:
		d.line(at, rule, Left, "no program called "+words[0]+" is on this host's PATH")
		return
	case path.Base(file) != words[0]: // denials use the other name
		d.line(at, rule, Left, words[0]+" is the file "+file+" here, and the other settings do not name it")
		return
	}
	sub := strings.Join(words[1:], " ")
	if slices.ContainsFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") }) {
		d.line(at, rule, Left, "it names a flag, and a policy lists sub-commands")
		return
	}
	d.program(file, sub, list == "ask")
	d.line(at, rule, Exact, "")
}

// optionsBefore lists options that a program accepts before its sub-commands, and that select another place
// than the working folder. Settings that begin with a sub-command do not allow these options. So the policy
// denies them at every position.
func optionsBefore(program string, subs []string) []string {
	has := func(is func(sub string) bool) bool { return slices.ContainsFunc(subs, is) }
	switch program {
	case "git":
		flags := []string{"--work-tree", "--namespace"}
		if !has(func(sub string) bool { return sub == "rev-parse" }) { // it has one of its own
			flags = append(flags, "--git-dir")
		}
		return flags
	case "docker", "podman", "nerdctl":
		flags := []string{"-H", "--host", "-c", "--context", "--config", "--url", "--connection"}
		if has(func(sub string) bool { return sub == "compose" || strings.HasPrefix(sub, "compose ") }) {
			flags = append(flags, "-f", "--file", "--project-directory", "--env-file")
		}
		return flags
	default:
		return nil
	}
}

// program adds a sub-command, or "" for all of them, to the program at path.
func (d *draft) program(path, sub string, ask bool) {
	s := d.shell()
	i := slices.IndexFunc(s.Binaries, func(b schema.Binary) bool { return b.Path == path })
	if i < 0 {
		s.Binaries = append(s.Binaries, schema.Binary{Path: path, Args: &schema.Args{Subcommands: []string{}}})
		i = len(s.Binaries) - 1
	}
	args := s.Binaries[i].Args
	if ask {
		args.Ask = append(args.Ask, schema.AskWords{Words: sub})
	}
	switch {
	case sub == "":
		args.Subcommands = nil // all of them
	case args.Subcommands != nil && !slices.Contains(args.Subcommands, sub):
		args.Subcommands = append(args.Subcommands, sub)
	}
}
