// The request of `ringd run`: a program and its inputs. Input that is too large, is no JSON, or has a
// repeated name is refused.

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ringd/ringd/executors/js/engine/value"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// Limits of the command line. The daemon has its own.
const (
	MaxProgram = 1 << 20
	maxInput   = 4 << 20
)

// GivenRequest holds the arguments of the command line.
type GivenRequest struct {
	Agent, Executor, Language string
	Program                   string   // a file, or "-" for stdin
	Inputs                    []string // NAME=FILE.json
	Session                   string
	Grants                    string // a file; may be empty
	Stdin                     string // a file, or "-"; may be empty
	Cwd                       string
}

// ExecutorOf returns the given executor, or the one for the file extension of the program.
func ExecutorOf(given, program string) (string, error) {
	known := map[string]string{
		".js": profiles.ExecutorJS, ".mjs": profiles.ExecutorJS, ".cjs": profiles.ExecutorJS,
		".ts": profiles.ExecutorJS, ".mts": profiles.ExecutorJS, ".cts": profiles.ExecutorJS,
		".py": profiles.ExecutorPython, ".sh": profiles.ExecutorShell,
	}
	by, sure := known[strings.ToLower(filepath.Ext(program))]
	switch {
	case given == profiles.ExecutorJS, given == profiles.ExecutorPython, given == profiles.ExecutorShell:
		return given, nil
	case given != "":
		return "", fmt.Errorf("--executor %q: want js, python or shell", given)
	case sure:
		return by, nil
	case program == "-":
		return "", errors.New("a program on standard input needs --executor js, python or shell")
	default:
		return "", fmt.Errorf("the language is not known from the name %q\n    hint: give --executor js, python or "+
			"shell; files .js, .ts, .py and .sh need none", program)
	}
}

func ReadRequest(g GivenRequest, stdin io.Reader) (wire.RunRequest, error) {
	req := wire.RunRequest{Agent: g.Agent, Executor: g.Executor, Inputs: map[string]json.RawMessage{}}
	name, source, err := program(g.Program, stdin)
	if err != nil {
		return req, err
	}
	req.Program = wire.Program{Name: name, Language: g.Language, Source: string(source)}
	req.Session, req.Program.Cwd = g.Session, g.Cwd
	if err := standardInput(g, stdin, &req); err != nil {
		return req, err
	}
	if g.Grants != "" {
		text, err := contents(g.Grants, profiles.MaxGrantsBytes)
		if err != nil {
			return req, fmt.Errorf("read grants: %w", err)
		}
		grants, err := profiles.DecodeGrants(text)
		if err != nil {
			return req, fmt.Errorf("read grants: %s: %w", g.Grants, err)
		}
		req.Grants = &grants
	}
	for _, arg := range g.Inputs {
		key, file, ok := strings.Cut(arg, "=")
		if !ok || key == "" || file == "" {
			return req, fmt.Errorf("--input %q: want NAME=FILE.json", arg)
		}
		if _, twice := req.Inputs[key]; twice {
			return req, fmt.Errorf("--input %s is given twice", key)
		}
		text, err := contents(file, maxInput)
		if err != nil {
			return req, fmt.Errorf("read input %s: %w", key, err)
		}
		if req.Inputs[key], err = value.FromJSON(text); err != nil {
			return req, fmt.Errorf("read input %s: %s: %w", key, file, err)
		}
	}
	return req, nil
}

// standardInput reads the standard input of a script.
func standardInput(g GivenRequest, stdin io.Reader, req *wire.RunRequest) (err error) {
	var text []byte
	switch {
	case g.Stdin == "":
		return nil
	case g.Stdin == "-" && g.Program == "-":
		return errors.New("the program and --stdin cannot both be standard input")
	case g.Stdin == "-":
		text, err = Bounded(stdin, maxInput)
	default:
		text, err = contents(g.Stdin, maxInput)
	}
	switch {
	case err != nil:
		return fmt.Errorf("read --stdin: %w", Bare(err))
	case !utf8.Valid(text):
		return errors.New("--stdin is not UTF-8 text")
	}
	req.Program.Stdin = string(text)
	return nil
}

func program(name string, stdin io.Reader) (string, []byte, error) {
	if name == "-" {
		source, err := Bounded(stdin, MaxProgram)
		if err != nil {
			return "", nil, fmt.Errorf("read program stdin: %w", Bare(err))
		}
		return "stdin", source, nil
	}
	source, err := contents(name, MaxProgram)
	if err != nil {
		return "", nil, fmt.Errorf("read program: %w", err)
	}
	return name, source, nil
}

func contents(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, Bare(err)
	}
	defer f.Close()
	b, err := Bounded(f, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, Bare(err))
	}
	return b, nil
}
