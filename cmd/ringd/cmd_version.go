package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/rings/kernel/initimage"
)

func newVersion(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Version prints the version of ringd and the digest (sha256) of each engine file
that programs run on: the JavaScript engine of this build, and the second engine
of Python if it is installed beside ringd. An engine that is missing, or that is
not the pinned one, has no line. Snapshots name another digest, of the engine
with everything loaded into it: engine in ringd doctor --json.`,
		Example: "  ringd version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := p.withEngines(buildVersion())
			if asJSON {
				return cli.JSON(p.Out, v)
			}
			_, err := fmt.Fprintf(p.Out, "ringd %s\n%s", v, v.engineLines())
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
	Init     string `json:"init,omitempty"` // digest of the guests' init
	// Digests of the engine files: JavaScript, and the second engine of Python.
	JS     string `json:"js_engine_file,omitempty"`
	Python string `json:"python_engine_file,omitempty"`
}

// withEngines adds the digests of engines that exist and have the pinned digest.
func (p *program) withEngines(v versionInfo) versionInfo {
	v.JS = engine.FileDigest()
	if _, err := place.Read(p.wasmDir()); err == nil {
		v.Python = "sha256:" + place.WasmDigest
	}
	return v
}

// engineLines formats the engines that exist.
func (v versionInfo) engineLines() string {
	out := ""
	if v.JS != "" {
		out += "js engine file      " + v.JS + "\n"
	}
	if v.Python != "" {
		out += "python engine file  " + v.Python + "\n"
	}
	return out
}

// String returns the version for people.
func (v versionInfo) String() string { return v.Version + " " + v.Go }

// buildVersion returns the version that the Go toolchain has put into the binary.
func buildVersion() versionInfo {
	v := versionInfo{Version: "(devel)", Init: initimage.Digest()}
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
