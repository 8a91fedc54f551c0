// Command benign is an ordinary Go program: goroutines, a collector at work,
// timers, files, a child.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Print("child")
		return
	}
	if err := work(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("fine")
}

func work() error {
	var wg sync.WaitGroup
	sums := make([]int, 64)
	for i := range sums {
		wg.Go(func() {
			var keep [][]byte
			for n := range 200 {
				keep = append(keep, make([]byte, 4096))
				sums[i] += len(keep[n])
			}
		})
	}
	wg.Wait()
	runtime.GC()
	for _, s := range sums {
		if s != 200*4096 {
			return fmt.Errorf("a sum is %d", s)
		}
	}
	<-time.After(time.Millisecond)
	dir, err := os.MkdirTemp("", "benign")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644); err != nil {
		return err
	}
	out, err := exec.Command("/proc/self/exe", "child").Output()
	if err != nil || string(out) != "child" {
		return fmt.Errorf("child: %q %w", out, err)
	}
	return nil
}
