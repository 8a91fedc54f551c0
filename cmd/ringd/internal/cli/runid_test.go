package cli_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema/wire"
)

func TestRunKept(t *testing.T) {
	whole := "r" + strings.Repeat("a", 26)
	for _, tt := range []struct {
		name, given string
		found       []string
		next        string
		want        string
		code        int
	}{
		{"a whole id is not looked for", whole, []string{"rb", "rc"}, "", whole, 0},
		{"one", "raaa", []string{whole}, "", whole, 0},
		{"none", "rbbb", nil, "", "rbbb", 0},
		{"two", "raaa", []string{whole, "raaab"}, "", "", cli.Refused},
		{"one, and more that are not listed", "raaa", []string{whole}, "2026", "", cli.Refused},
		{"too short", "raa", []string{whole}, "", "", cli.Misused},
		{"a list that was not filtered", "raaa", []string{"rzzz"}, "", "", cli.Misused},
	} {
		got, err := cli.RunKept(tt.given, func(string, int) (list wire.RunList, err error) {
			for _, id := range tt.found {
				list.Runs = append(list.Runs, wire.RunSummary{ID: id})
			}
			list.Next = tt.next
			return list, nil
		})
		var exit *cli.Exit
		if got != tt.want || (tt.code != 0) != errors.As(err, &exit) || tt.code != 0 && exit.Code != tt.code {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
		if tt.code == cli.Refused && !strings.Contains(err.Error(), whole) {
			t.Errorf("%s: the runs are not listed: %v", tt.name, err)
		}
	}
	if _, err := cli.RunKept("raaa", func(string, int) (wire.RunList, error) {
		return wire.RunList{}, errors.New("gone")
	}); err == nil {
		t.Error("a list that fails is none")
	}
}

// A user whom the socket keeps out is told what lets them in.
func TestKeptOut(t *testing.T) {
	err := cli.RefusedBy(&net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)})
	if err == nil || !strings.Contains(err.Error(), "socketGroup") {
		t.Errorf("got %v", err)
	}
}
