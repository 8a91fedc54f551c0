package config

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// checkPrivate refuses a file that users other than its owner, this user, the system and its administrators may
// read or change. It checks the access list, because file modes mean nothing on this system.
func checkPrivate(f *os.File) error {
	sd, err := windows.GetSecurityInfo(windows.Handle(f.Fd()), windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("%s: read its permissions: %w", f.Name(), err)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("permissions of %s: %w", f.Name(), err)
	}
	who, err := other(sd, user.User.Sid)
	switch {
	case err != nil:
		return fmt.Errorf("%s: read its permissions: %w", f.Name(), err)
	case who != "":
		return fmt.Errorf("%s can be read by others (%s): run icacls on it with /inheritance:r /grant:r %%USERNAME%%:R",
			f.Name(), who)
	default:
		return nil
	}
}

// other returns a user to whom sd gives access and should not, or "". Without an access list everybody has
// all rights, and the rights of an unknown entry are not known.
func other(sd *windows.SECURITY_DESCRIPTOR, user *windows.SID) (string, error) {
	owner, _, err := sd.Owner()
	if err != nil {
		return "", err
	}
	list, _, err := sd.DACL()
	if err != nil && !errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) {
		return "", err
	}
	if list == nil {
		return "everybody", nil
	}
	for i := range uint32(list.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, i, &ace); err != nil {
			return "", err
		}
		switch {
		case ace.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE, ace.Header.AceFlags&windows.INHERIT_ONLY_ACE != 0,
			ace.Mask == 0:
			continue
		case ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE:
			return "an entry of an unknown kind", nil
		}
		who := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
		if !who.Equals(owner) && !who.Equals(user) && !who.IsWellKnown(windows.WinLocalSystemSid) &&
			!who.IsWellKnown(windows.WinBuiltinAdministratorsSid) &&
			!who.IsWellKnown(windows.WinCreatorOwnerRightsSid) {
			return who.String(), nil
		}
	}
	return "", nil
}

// Own accepts every folder: nothing runs on this system, and so nothing is recorded.
func Own(string) error { return nil }
