//go:build unix

package api

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// ownGroup means the group that a new file gets.
const ownGroup = -1

// groupID returns the number of a group given by name or number, or ownGroup for none.
func groupID(group string) (int, error) {
	if group == "" {
		return ownGroup, nil
	}
	const bits = 31
	if n, err := strconv.ParseUint(group, 10, bits); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return 0, fmt.Errorf("%q: this host has no such group", group)
	}
	return strconv.Atoi(g.Gid)
}

// setGroup gives a file to a group.
func setGroup(path string, gid int) error {
	if gid == ownGroup {
		return nil
	}
	err := os.Chown(path, -1, gid)
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("socketGroup: the daemon's user is not in the group %d: %w", gid, err)
	}
	return err
}

// openFolderTo lets the users of a group reach the files in dir, or returns what keeps them out.
func openFolderTo(dir string, gid int) error {
	const byGroup, byOthers = 0o010, 0o001
	if gid == ownGroup {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("check the socket's folder: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	switch {
	case !ok:
		return fmt.Errorf("check the socket's folder: the owner of %s is not known", dir)
	case mode&byOthers != 0, mode&byGroup != 0 && int(st.Gid) == gid:
		return nil
	case mode&byGroup != 0 && int(st.Uid) == os.Geteuid():
		return setGroup(dir, gid)
	default:
		return fmt.Errorf("the socket's folder %s cannot be entered by the group %d: chgrp %d %s && chmod 0750 %s", dir,
			gid, gid, dir, dir)
	}
}
