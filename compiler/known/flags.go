package known

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/spelling"
)

// options are all options of a program or sub-command.
type options struct {
	short string
	long  []string
}

// unknownFlag reports a flag of a rule that its program does not have. No command can match such a rule,
// although its author expects it.
func (c *checker) unknownFlag(name string, rule []string, at profiles.Rule) bool {
	sub := ""
	if name == "git" && len(rule) > 0 && !strings.HasPrefix(rule[0], "-") {
		sub = rule[0]
	}
	o, ok := optionsOf(name, sub)
	if !ok {
		return false
	}
	called := strings.TrimSpace(name + " " + sub)
	for _, w := range rule {
		if w == "--" {
			return false
		}
		long, _, _ := strings.Cut(w, "=")
		switch {
		case !strings.HasPrefix(w, "-") || w == "-" || long == "--help" || long == "--version":
		case strings.HasPrefix(w, "--"):
			if slices.ContainsFunc(o.long, func(l string) bool {
				return strings.HasPrefix("--"+l, long) || "--no-"+l == long
			}) {
				continue
			}
			hint := ""
			if i := spelling.Of(long[2:], o.long, spelling.Effort{Names: 100, Letters: 4000}); i >= 0 {
				hint = "did you mean --" + o.long[i] + "?"
			}
			c.warn(codeNever, at, hint, "%s has no option %s, so no command matches this", called, clip(long))
			return true
		default:
			for _, letter := range long[1:] {
				if !strings.ContainsRune(o.short, letter) {
					c.warn(codeNever, at, "", "%s has no option -%s, so no command matches this", called,
						clip(string(letter)))
					return true
				}
			}
		}
	}
	return false
}

// optionsOf returns the options of the programs that denied patterns most often name. The lists are complete,
// from the manuals.
func optionsOf(name, sub string) (options, bool) {
	split := func(short, long string) (options, bool) { return options{short, strings.Fields(long)}, true }
	switch name {
	case "rm":
		return split("fiIrRdv", "force interactive one-file-system no-preserve-root preserve-root recursive dir "+
			"verbose")
	case "rmdir":
		return split("pv", "ignore-fail-on-non-empty parents verbose")
	case "mkdir":
		return split("mpvZ", "mode parents verbose context")
	case "mv":
		return split("bfinStTuvZ", "backup debug exchange force interactive no-clobber no-copy "+
			"strip-trailing-slashes suffix target-directory no-target-directory update verbose context")
	case "cp":
		return split("abdfiHlLnpPRrsStTuvxZ",
			"archive attributes-only backup copy-contents debug force interactive link dereference no-clobber "+
				"no-dereference preserve no-preserve parents "+
				"recursive reflink remove-destination sparse strip-trailing-slashes symbolic-link suffix "+
				"target-directory no-target-directory update verbose one-file-system context keep-directory-symlink")
	case "ln":
		return split("bdFfiLnPrsStTv", "backup directory force interactive logical no-dereference physical relative "+
			"symbolic suffix target-directory no-target-directory verbose")
	case "touch":
		return split("acdfhmrt", "no-create date no-dereference reference time")
	case "git":
		return gitOptions(sub, split)
	default:
		return options{}, false
	}
}

func gitOptions(sub string, split func(short, long string) (options, bool)) (options, bool) {
	switch sub {
	case "push":
		return split("vqndfuo46", "all branches mirror tags follow-tags atomic dry-run receive-pack exec repo force "+
			"delete prune verbose quiet set-upstream push-option signed "+
			"force-with-lease force-if-includes thin recurse-submodules verify progress porcelain ipv4 ipv6")
	case "clean":
		return split("dfinqeXx", "force interactive dry-run quiet exclude")
	case "reset":
		return split("qpNU", "soft mixed hard merge keep quiet patch refresh recurse-submodules intent-to-add "+
			"pathspec-from-file pathspec-file-nul unified inter-hunk-context")
	default:
		return options{}, false
	}
}
