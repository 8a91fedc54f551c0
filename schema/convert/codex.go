package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// codexSettings is the part of config.toml about what programs may do.
type codexSettings struct {
	SandboxMode    string `toml:"sandbox_mode"`
	ApprovalPolicy any    `toml:"approval_policy"`
	Write          struct {
		Roots   []string `toml:"writable_roots"`
		Network bool     `toml:"network_access"`
		NoTmp   bool     `toml:"exclude_slash_tmp"`
		NoVar   bool     `toml:"exclude_tmpdir_env_var"`
	} `toml:"sandbox_workspace_write"`
	Environment struct {
		Inherit string            `toml:"inherit"`
		Set     map[string]string `toml:"set"`
		Only    []string          `toml:"include_only"`
	} `toml:"shell_environment_policy"`
}

// codex converts config.toml. Codex allows reads everywhere, and any program may start. It allows writes
// below some roots, but the folders .git and .codex in them stay read-only.
func (d *draft) codex(text []byte) error {
	var s codexSettings
	if err := toml.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%w of Codex: %w", ErrFormat, err)
	}
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("%w of Codex: %w", ErrFormat, err)
	}
	d.network()
	d.constructs(true)
	switch s.SandboxMode {
	case "", "read-only", "workspace-write":
		d.files().Read = []string{workspace}
		d.line("sandbox_mode", s.SandboxMode, Stricter, "the settings allow reading every file, which no host "+
			"grants: only the working folder is granted; add the other folders that are needed")
	case "danger-full-access":
		d.line("sandbox_mode", s.SandboxMode, Left, "the settings put no bound on programs, which no policy can "+
			"express")
	default:
		return fmt.Errorf("%w of Codex: sandbox_mode %q is not known", ErrFormat, s.SandboxMode)
	}
	if s.SandboxMode == "workspace-write" {
		d.codexWrites(s)
	}
	if s.Write.Network {
		d.line("sandbox_workspace_write.network_access", "true", Left,
			"it opens every host; list the needed hosts in spec.network.egress")
	}
	if len(s.Environment.Only) > 0 {
		d.line("shell_environment_policy.set", "", Left, "include_only keeps variables by name patterns; list them "+
			"in spec.executors.shell.env")
	} else {
		d.environment("shell_environment_policy.set", s.Environment.Set)
	}
	if s.Environment.Inherit != "" {
		d.line("shell_environment_policy.inherit", s.Environment.Inherit, Stricter,
			"a guest gets no variables of the host")
	}
	if s.ApprovalPolicy != nil {
		d.line("approval_policy", fmt.Sprint(s.ApprovalPolicy), Left,
			"ringd asks where a grant says so: args.ask of a program, approval of a bridge")
	}
	d.line("(programs)", "", Left, "Codex starts any program; list programs in spec.executors.shell.binaries")
	for _, name := range sortedKeys(all) {
		switch name {
		case "sandbox_mode", "approval_policy", "sandbox_workspace_write", "shell_environment_policy":
		case "default_permissions", "profile":
			d.noRead, d.noWrite = true, true
			d.line(name, "", Stricter, "it replaces sandbox_mode by a profile, which import does not read: no file "+
				"is granted")
		case "permissions", "profiles", "features":
			d.line(name, "", Left, "import reads only sandbox_mode, no profile")
		default:
			d.line(name, "", NoPolicy, "not part of a policy")
		}
	}
	d.codexParts(all)
	return nil
}

// codexParts reports the settings of a section that are not converted.
func (d *draft) codexParts(all map[string]any) {
	taken := []string{"writable_roots", "network_access", "exclude_slash_tmp", "exclude_tmpdir_env_var", "inherit",
		"set"}
	for _, part := range []string{"sandbox_workspace_write", "shell_environment_policy"} {
		fields, ok := all[part].(map[string]any)
		if !ok {
			continue
		}
		for _, name := range sortedKeys(fields) {
			if !slices.Contains(taken, name) {
				d.line(part+"."+name, "", NoPolicy, "not part of a policy")
			}
		}
	}
}

// codexWrites converts the writable roots.
func (d *draft) codexWrites(s codexSettings) {
	const why = "Codex keeps its .git, .codex and .agents read-only, and a policy has no read-only part of a folder " +
		"that may be written; grant the folders below it that are meant"
	d.line("(writes)", workspace, Left, why)
	for i, root := range s.Write.Roots {
		d.line(fmt.Sprintf("sandbox_workspace_write.writable_roots[%d]", i), root, Left, why)
	}
	if !s.Write.NoTmp {
		d.line("sandbox_workspace_write.exclude_slash_tmp", "false", Stricter, cannotGrant("/tmp"))
	}
	if !s.Write.NoVar {
		d.line("sandbox_workspace_write.exclude_tmpdir_env_var", strings.ToLower(fmt.Sprint(s.Write.NoVar)), Left,
			"which folder TMPDIR names is not known here")
	}
}
