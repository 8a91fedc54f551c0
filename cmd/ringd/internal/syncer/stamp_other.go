//go:build !linux

package syncer

import (
	"fmt"
	"io/fs"
	"os"
	"time"
)

// onlyFolders does nothing here: listing anything but a folder fails anyway.
const onlyFolders = 0

func stampOf(st fs.FileInfo) string {
	return fmt.Sprint(st.Mode(), st.Size(), st.ModTime().UnixNano())
}

func inode(fs.FileInfo) string { return "" }

// beingWritten is unknown on this system.
func beingWritten(*os.File) (writing, known bool) { return false, false }

// changed returns when a file was last written.
func changed(st fs.FileInfo) time.Time { return st.ModTime() }
