// Command client gets URLs with net/http, as Go programs do, and says what came of
// each.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	c := http.Client{Timeout: 20 * time.Second}
	for _, url := range os.Args[1:] {
		r, err := c.Get(url)
		if err != nil {
			fmt.Println("failed", err)
			continue
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		fmt.Println(r.StatusCode, string(b), err)
	}
}
