package commands

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ringd/ringd/profiles"
)

// decideLines decides the actions in in, one per line, and runs nothing. A line that is no action is denied,
// and reading continues. A line longer than the largest action is denied without being stored. The output is
// flushed whenever no further line has arrived, so a caller may send one action and wait for its decision.
func decideLines(
	ctx context.Context,
	d *profiles.Decider,
	revision string,
	in io.Reader,
	out io.Writer,
) (denied bool, err error) {
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for {
		if ctx.Err() != nil {
			return denied, fmt.Errorf("decide: %w", context.Cause(ctx))
		}
		text, tooLong, err := readLine(r, profiles.MaxActionBytes)
		if errors.Is(err, io.EOF) {
			return denied, w.Flush()
		}
		if err != nil {
			return denied, fmt.Errorf("read actions: %w", err)
		}
		dec := decideLine(d, text, tooLong)
		if dec.Revision == "" {
			dec.Revision = revision
		}
		denied = denied || dec.Verdict == profiles.Deny
		if err := enc.Encode(dec); err != nil {
			return denied, fmt.Errorf("write decisions: %w", err)
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return denied, fmt.Errorf("write decisions: %w", err)
			}
		}
	}
}

func decideLine(d *profiles.Decider, line []byte, tooLong bool) profiles.Decision {
	if tooLong {
		return profiles.Malformed(fmt.Errorf("action is larger than %d bytes", profiles.MaxActionBytes))
	}
	action, err := profiles.DecodeAction(line)
	if err != nil {
		return profiles.Malformed(err)
	}
	return d.Decide(action)
}

// readLine reads up to a newline or the end. It stores nothing of a line longer than max and reports it.
// io.EOF means that there is no further line.
func readLine(r *bufio.Reader, max int) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		ended := err == nil || errors.Is(err, io.EOF)
		if !ended && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, false, err
		}
		if !tooLong && len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > max {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		if errors.Is(err, io.EOF) && len(part) == 0 && len(line) == 0 && !tooLong {
			return nil, false, io.EOF
		}
		if ended {
			return bytes.TrimSuffix(line, []byte("\n")), tooLong, nil
		}
	}
}
