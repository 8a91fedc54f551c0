package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/spelling"
)

// ShowUse makes c, and its subcommands, report a missing, unknown or wrong argument or flag in the words of
// ringd, with the usage line.
func ShowUse(c *cobra.Command) {
	for _, sub := range c.Commands() {
		ShowUse(sub)
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return withUsage(c, flagError(c, err)) })
	if !c.HasParent() {
		c.Args = func(c *cobra.Command, given []string) error {
			if len(given) == 0 {
				return nil
			}
			return unknownCommand(c, given[0])
		}
		return
	}
	args := c.Args
	c.Args = func(c *cobra.Command, given []string) error {
		if args != nil && args(c, given) != nil {
			if c.HasSubCommands() {
				return unknownCommand(c, given[0])
			}
			return withUsage(c, argCountError(c, given))
		}
		if missing := missingFlags(c); len(missing) > 0 {
			return withUsage(c, fmt.Errorf("%s needs %s", c.Name(), strings.Join(missing, " and ")))
		}
		return nil
	}
}

// withUsage adds the help line of c to a usage error.
func withUsage(c *cobra.Command, err error) error {
	before := " "
	if use := c.UseLine(); len("    usage: ")+len(use) > 80 {
		before = "\n      "
	}
	return Usage("%w\n    usage:%s%s", err, before, c.UseLine())
}

// unknownCommand returns the error for an unknown subcommand of c.
func unknownCommand(c *cobra.Command, word string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	slices.Sort(names)
	hint := c.CommandPath() + " --help lists the verbs"
	if i := spelling.Of(word, names, spelling.Effort{Names: 256, Letters: 4096}); i >= 0 {
		hint = fmt.Sprintf("did you mean %q?", names[i])
	} else if c.HasParent() {
		hint = c.CommandPath() + " has " + strings.Join(names, ", ")
	}
	return Usage("%s has no verb %q\n    hint: %s", c.CommandPath(), word, hint)
}

// usageArgs returns the arguments in the usage line of c, without flags and their values. Those in brackets are
// optional.
func usageArgs(c *cobra.Command) (needed, all []string) {
	words := strings.Fields(c.Use)[1:]
	for i := 0; i < len(words); i++ {
		word := words[i]
		if strings.HasPrefix(strings.TrimLeft(word, "[("), "-") {
			if f := c.Flags().Lookup(strings.Trim(word, "[]()-")); f == nil || f.Value.Type() != "bool" {
				i++ // the value of a flag
			}
			continue
		}
		all = append(all, word)
		if !strings.HasPrefix(word, "[") {
			needed = append(needed, word)
		}
	}
	return needed, all
}

// argCountError returns the error for a missing argument or one too many.
func argCountError(c *cobra.Command, given []string) error {
	needed, all := usageArgs(c)
	switch {
	case len(given) < len(needed) && len(given) == 0:
		return fmt.Errorf("%s needs %s", c.Name(), strings.Join(needed, " and "))
	case len(given) < len(needed):
		return fmt.Errorf("%s needs %s, and got only %q", c.Name(), strings.Join(needed, " and "), given)
	case len(all) == 0:
		return fmt.Errorf("%s takes no argument, got %q", c.Name(), given[0])
	default:
		return fmt.Errorf("%s takes %s, and %q is one too many", c.Name(), strings.Join(all, " "),
			given[min(len(all), len(given)-1)])
	}
}

// missingFlags returns the required flags of c that are missing.
func missingFlags(c *cobra.Command) (missing []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if needed := f.Annotations[cobra.BashCompOneRequiredFlag]; len(needed) > 0 && needed[0] == "true" &&
			!f.Changed {
			missing = append(missing, "--"+f.Name)
		}
	})
	return missing
}

// flagError rewords an error about a flag.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var without *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("%s has no flag -%s", c.Name(), unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		text := fmt.Sprintf("%s has no flag --%s", c.Name(), unknown.GetSpecifiedName())
		if i := spelling.Of(unknown.GetSpecifiedName(), names, spelling.Effort{Names: 256, Letters: 4096}); i >= 0 {
			text += fmt.Sprintf("; did you mean --%s?", names[i])
		}
		return errors.New(text)
	case errors.As(err, &without):
		return fmt.Errorf("--%s needs a value: %s", without.GetFlag().Name, without.GetFlag().Usage)
	case errors.As(err, &wrong):
		return fmt.Errorf("--%s %q: want %s", wrong.GetFlag().Name, wrong.GetValue(), valueHint(wrong.GetFlag()))
	default:
		return err
	}
}

// valueHint describes the valid values of a flag.
func valueHint(f *pflag.Flag) string {
	switch kind := f.Value.Type(); {
	case kind == "duration":
		return "a duration such as 500ms, 30s, 5m, 2h or 1d"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	default:
		return cmp.Or(f.Usage, "a "+kind)
	}
}

// OneOf adds the values of a flag to shell completion.
func OneOf(cmd *cobra.Command, flag string, values ...string) {
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// durationValue is a flag value with a duration.
type durationValue time.Duration

func (s *durationValue) String() string { return time.Duration(*s).String() }
func (*durationValue) Type() string     { return "duration" }

func (s *durationValue) Set(text string) error {
	d, err := config.Span(text)
	*s = durationValue(d)
	return err
}

// Span adds a flag with a duration, such as 30s or 1d.
func Span(cmd *cobra.Command, at *time.Duration, flag string, otherwise time.Duration, use string) {
	*at = otherwise
	cmd.Flags().Var((*durationValue)(at), flag, use)
	if otherwise == 0 {
		cmd.Flags().Lookup(flag).DefValue = "" // hides the default in help
	}
}

// OnePolicy is the policy of a command: its argument PATH or the value of -p.
type OnePolicy struct {
	cmd             *cobra.Command
	flag, otherwise string
}

// Bind adds -p. otherwise is the default path. If it is empty, the command decides.
func (o *OnePolicy) Bind(cmd *cobra.Command, otherwise string) {
	o.cmd, o.otherwise = cmd, otherwise
	use := "policy file or folder, instead of PATH"
	if otherwise != "" {
		use += " (default: " + otherwise + ")"
	}
	cmd.Flags().StringVarP(&o.flag, "policy", "p", "", use)
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml", "json", "cue") // the flag is defined above
}

// Path returns the path of the policy: an argument, -p, or the default.
func (o *OnePolicy) Path(args []string) (string, error) {
	all, err := o.Paths(args)
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// Paths returns the arguments, or -p, or the default. It is nil if there is none.
func (o *OnePolicy) Paths(args []string) ([]string, error) {
	given := o.cmd.Flags().Changed("policy")
	switch {
	case slices.Contains(args, "") || given && o.flag == "":
		return nil, Usage("PATH is empty: name a policy file or folder")
	case given && len(args) > 0:
		return nil, Usage("-p %s and %s: name the policy once", Visible(o.flag), Visible(args[0]))
	case given:
		return []string{o.flag}, nil
	case len(args) == 0 && o.otherwise != "":
		return []string{o.otherwise}, nil
	default:
		return args, nil
	}
}

// NoAgent returns the error for an agent that a policy does not have, and lists those that it has.
func NoAgent(set *profiles.Set, name string) error {
	names := slices.Sorted(maps.Keys(set.Agents))
	most := 20
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return Usage("the policy has no agent %q: it has %s", name, Visible(text))
}
