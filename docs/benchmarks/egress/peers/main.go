// Command peers is goproxy, started as its documentation describes, with a decision about the host as a harness
// would write it. It prints its address when it listens.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/elazarl/goproxy"
)

func main() {
	p := goproxy.NewProxyHttpServer()
	listed := func(host string) bool { return strings.HasPrefix(host, "127.0.0.1:") }
	p.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		if !listed(host) {
			return goproxy.RejectConnect, host
		}
		return goproxy.OkConnect, host
	})
	p.OnRequest().DoFunc(func(r *http.Request, _ *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		if !listed(r.URL.Host) {
			return r, goproxy.NewResponse(r, goproxy.ContentTypeText, http.StatusForbidden, "refused")
		}
		return r, nil
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	_ = http.Serve(l, p)
}
