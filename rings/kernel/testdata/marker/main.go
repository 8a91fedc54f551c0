// Command marker says that it ran, in every way it can: the file that it is
// given, standard output, its exit code. The tests of failures start it, and it
// must never have run.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 {
		if f, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666); err == nil {
			fmt.Fprintln(f, "ran")
			f.Close()
		}
	}
	fmt.Println("RAN")
	os.Exit(42)
}
