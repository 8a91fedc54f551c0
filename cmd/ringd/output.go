package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/mattn/go-isatty"

	"github.com/ringd/ringd/schema"
)

// The styles a terminal may get.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	dim    = "\x1b[2m"
	plain  = "\x1b[0m"
)

// style colours text for w when w is a terminal and nobody asked for none.
func (p *program) style(w io.Writer, s, text string) string {
	if !p.terminal(w) {
		return text
	}
	return s + text + plain
}

func (p *program) terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && !p.env.NoColor && !p.env.Dumb && isatty.IsTerminal(f.Fd())
}

// printJSON writes v, indented, with a newline.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// printFindings writes findings as contract.md has them; warnings are marked.
func (p *program) printFindings(w io.Writer, ds schema.Diagnostics) error {
	for _, d := range ds {
		code := p.style(w, red, d.Code)
		if d.Severity == schema.Warning {
			code = p.style(w, yellow, d.Code) + ": warning"
		}
		place := ""
		if d.Pos.File != "" {
			place = d.Pos.String() + ": "
		}
		if _, err := fmt.Fprintf(w, "%s%s: %s\n", place, code, d.Msg); err != nil {
			return fmt.Errorf("write findings: %w", err)
		}
		if d.Hint != "" {
			fmt.Fprintf(w, "    hint: %s\n", d.Hint)
		}
	}
	return nil
}

// count words a number: 1 finding, 2 findings.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
