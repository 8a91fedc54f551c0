package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/rings/kernel/image"
)

func newVersion(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  ringd version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if asJSON {
				return render.JSON(p.Out, v)
			}
			_, err := fmt.Fprintf(p.Out, "ringd %s\n", v)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source
	Go       string `json:"go"`
	Init     string `json:"init,omitempty"` // digest of the init of guests
}

// String is the version for people.
func (v versionInfo) String() string { return v.Version + " " + v.Go }

// buildVersion is what the Go toolchain stamped into the binary.
func buildVersion() versionInfo {
	v := versionInfo{Version: "(devel)", Init: image.Digest()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = info.GoVersion
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}
