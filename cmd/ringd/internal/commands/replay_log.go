package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// maxLine limits the length of a line of exported records.
const maxLine = 2 * audit.MaxRecord

// eachRecord calls visit with the records of a log, oldest first, and returns the verified head. The chain of a
// folder is verified before the first call. An exported file has no chain, and its head is empty.
func eachRecord(ctx context.Context, path string, visit func(audit.Entry)) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	if !info.IsDir() {
		return "", eachLine(ctx, path, visit)
	}
	if below := filepath.Join(path, "audit"); folder(below) {
		path = below // path was a state folder
	}
	rep, err := audit.Verify(ctx, path, audit.Check{})
	if err != nil {
		return "", err
	}
	if rep.Records == 0 {
		return "", fmt.Errorf("%s has no records of an audit log", path)
	}
	verified := audit.Filter{}
	if rep.Archived != nil {
		verified.After = rep.Archived.Seq
	}
	for e, err := range audit.Query(ctx, path, verified) {
		if err != nil {
			return "", err
		}
		if e.Seq > rep.Head.Seq {
			break // records after the verified head
		}
		visit(e)
	}
	return "record " + strconv.FormatInt(rep.Head.Seq, 10) + ", " + rep.Head.Hash.String(), nil
}

func folder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// eachLine reads the output of ringd audit query --json, one record per line.
func eachLine(ctx context.Context, path string, visit func(audit.Entry)) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	in := bufio.NewScanner(f)
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; in.Scan(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(in.Bytes()) == 0 {
			continue
		}
		var e audit.Entry
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			return fmt.Errorf("%s:%d: not a record, as ringd audit query --json prints them: %w", path, n, err)
		}
		if !e.Record.Kind.Known() {
			return fmt.Errorf("%s:%d: not a record of a kind that this ringd knows", path, n)
		}
		visit(e)
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read log %s: %w", path, err)
	}
	return nil
}
