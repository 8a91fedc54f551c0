//go:build !linux

package syncer

import (
	"fmt"
	"io/fs"
	"os"
)

// onlyFolders is nothing here: listing anything else fails.
const onlyFolders = 0

func stampOf(st fs.FileInfo) string {
	return fmt.Sprint(st.Mode(), st.Size(), st.ModTime().UnixNano())
}

func inode(fs.FileInfo) string { return "" }

// beingWritten cannot be told here; the comparison of passes is all there is.
func beingWritten(*os.File) bool { return false }
