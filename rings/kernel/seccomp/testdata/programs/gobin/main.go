// A program of threads, garbage and children, with nothing but the standard library.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for i := range 200 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			runtime.LockOSThread() // more threads
			b := make([]byte, 1<<18)
			b[i] = 1
			time.Sleep(time.Millisecond)
			mu.Lock()
			total += int(b[i])
			mu.Unlock()
		}()
	}
	wg.Wait()
	runtime.GC()
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		panic(err)
	}
	<-c
	out, err := exec.Command("/bin/echo", "child").Output()
	if err != nil {
		panic(err)
	}
	name := filepath.Join(os.Args[1], "f")
	if err := os.WriteFile(name, out, 0o600); err != nil {
		panic(err)
	}
	if _, err := os.ReadDir(os.Args[1]); err != nil || os.RemoveAll(name) != nil {
		panic(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	go func() { _, _ = w.Write([]byte("x")) }()
	if _, err := r.Read(make([]byte, 1)); err != nil || total != 200 {
		panic(err)
	}
	fmt.Println("go works")
}
