package proxy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// meter lets most bytes pass; 0 is no limit.
type meter struct {
	mu         sync.Mutex
	used, most int
}

func (m *meter) Bounded() bool { return m.most > 0 }

func (m *meter) Take(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.most > 0 {
		n = min(n, m.most-m.used)
	}
	m.used += n
	return n
}

func (m *meter) Back(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= n
}

func (m *meter) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// pair is two ends of a connection.
func pair(t testing.TB) (here, there *net.TCPConn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	here, _ = c.(*net.TCPConn)
	there, _ = s.(*net.TCPConn)
	t.Cleanup(func() { c.Close(); s.Close() })
	for _, c := range []*net.TCPConn{here, there} {
		if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return here, there
}

// relayTunnel is a client, a server, and what stands between them.
type relayTunnel struct {
	client, server *net.TCPConn
	up, down       *meter
	pump           *pump
	ended          chan error
}

func newTunnel(t testing.TB, p *pump, up, down *meter) *relayTunnel {
	t.Helper()
	client, a := pair(t)
	b, server := pair(t)
	// What is relayed has no deadlines; the ends of it have.
	_, _ = a.SetDeadline(time.Time{}), b.SetDeadline(time.Time{})
	u := &relayTunnel{client: client, server: server, up: up, down: down, pump: p, ended: make(chan error, 2)}
	var work sync.WaitGroup
	p.Tunnel(work.Go, a, b, up, down, func(err error) { u.ended <- err })
	t.Cleanup(func() {
		client.Close()
		server.Close()
		work.Wait()
	})
	return u
}

func (u *relayTunnel) end(t testing.TB) error {
	t.Helper()
	select {
	case err := <-u.ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the tunnel does not end")
		return nil
	}
}

func sum(b []byte) [32]byte { return sha256.Sum256(b) }

// Whatever the size, and whether there are pipes or not, what comes out is what
// went in, on both sides at once; the end of one side is passed on, and the other
// goes on.
func TestTunnel(t *testing.T) {
	for _, size := range []int{0, 1, 16 << 10, SpliceAfter - 1, SpliceAfter, SpliceAfter + 1, 5<<20 + 17} {
		for name, pipes := range map[string]bool{"pipes": true, "no pipes": false} {
			t.Run(name, func(t *testing.T) {
				p := newPump()
				if !pipes {
					p.NoPipes()
				}
				u := newTunnel(t, p, &meter{}, &meter{})
				up, down := random(size), random(size*2/3)
				var work sync.WaitGroup
				work.Go(func() {
					if _, err := u.client.Write(up); err != nil {
						t.Error(err)
					}
					if err := u.client.CloseWrite(); err != nil {
						t.Error(err)
					}
				})
				got, err := io.ReadAll(u.server)
				if err != nil || sum(got) != sum(up) {
					t.Fatalf("%d of %d bytes came up, %v", len(got), len(up), err)
				}
				work.Go(func() {
					if _, err := u.server.Write(down); err != nil {
						t.Error(err)
					}
					u.server.Close()
				})
				got, err = io.ReadAll(u.client)
				if err != nil || sum(got) != sum(down) {
					t.Fatalf("%d of %d bytes came down, %v", len(got), len(down), err)
				}
				work.Wait()
				if err := u.end(t); err != nil {
					t.Errorf("ended with %v", err)
				}
				if u.up.count() != len(up) || u.down.count() != len(down) {
					t.Errorf("counted %d up, %d down, want %d, %d", u.up.count(), u.down.count(), len(up), len(down))
				}
				if p.Pipes() != 0 {
					t.Errorf("%d pipes are held", p.Pipes())
				}
			})
		}
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(b)
	return b
}

// A tunnel that has spliced and is idle holds no pipe.
func TestIdle(t *testing.T) {
	before := pipesOfProcess(t)
	u := newTunnel(t, newPump(), &meter{}, &meter{})
	b := random(4 << 20)
	go func() { _, _ = u.client.Write(b) }()
	if _, err := io.ReadFull(u.server, make([]byte, len(b))); err != nil {
		t.Fatal(err)
	}
	// The pipe goes back once a splice finds nothing, which is after the last bytes
	// came out; what goes through meanwhile shows that it did.
	for range 100 {
		if u.pump.Pipes() == 0 {
			break
		}
		if _, err := u.client.Write(b[:1]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(u.server, b[:1]); err != nil {
			t.Fatal(err)
		}
	}
	if n := u.pump.Pipes(); n != 0 {
		t.Errorf("%d pipes are held", n)
	}
	if n := pipesOfProcess(t); n-before > 2*4 {
		t.Errorf("%d descriptors of pipes are open, before there were %d", n, before)
	}
}

func pipesOfProcess(t *testing.T) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && len(to) > 5 && to[:5] == "pipe:" {
			n++
		}
	}
	return n
}

// More directions than pipes all go on.
func TestMorePipesThanThereAre(t *testing.T) {
	p := newPump()
	b := random(SpliceAfter + 1<<20)
	var work sync.WaitGroup
	for range MaxPipes + 8 {
		u := newTunnel(t, p, &meter{}, &meter{})
		work.Go(func() { _, _ = u.client.Write(b) })
		work.Go(func() {
			got := make([]byte, len(b))
			if _, err := io.ReadFull(u.server, got); err != nil || !bytes.Equal(got, b) {
				t.Errorf("what came is not what went: %v", err)
			}
		})
	}
	work.Wait()
}

// A limit lets exactly its bytes pass, resets both sides upon the next one, and
// does not mind an end.
func TestUsedUp(t *testing.T) {
	for _, most := range []int{1, 1000, SpliceAfter, SpliceAfter + 100_000} {
		u := newTunnel(t, newPump(), &meter{most: most}, &meter{})
		go func() { _, _ = u.client.Write(random(most + 1)) }()
		got, err := io.ReadAll(u.server)
		if len(got) > most {
			t.Errorf("most %d: %d bytes came", most, len(got))
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("most %d: the server saw %v", most, err)
		}
		if err := u.end(t); !errors.Is(err, errUsedUp) {
			t.Errorf("most %d: ended with %v", most, err)
		}
		if u.up.count() != most {
			t.Errorf("most %d: counted %d", most, u.up.count())
		}
	}
	u := newTunnel(t, newPump(), &meter{most: 5}, &meter{most: 3})
	if _, err := io.WriteString(u.client, "12345"); err != nil {
		t.Fatal(err)
	}
	_ = u.client.CloseWrite()
	if got, err := io.ReadAll(u.server); err != nil || string(got) != "12345" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := io.WriteString(u.server, "123"); err != nil {
		t.Fatal(err)
	}
	u.server.Close()
	if got, err := io.ReadAll(u.client); err != nil || string(got) != "123" {
		t.Errorf("%q, %v", got, err)
	}
	if err := u.end(t); err != nil {
		t.Errorf("a limit that is just met ended it with %v", err)
	}
}

// Two that share a limit use it up together, and neither is cut while something
// of it is left.
func TestShared(t *testing.T) {
	p, shared := newPump(), &meter{most: 2 << 20}
	var got atomic.Int64
	var work sync.WaitGroup
	for range 4 {
		u := newTunnel(t, p, shared, &meter{})
		work.Go(func() {
			for {
				if _, err := u.client.Write(random(1000)); err != nil {
					return
				}
			}
		})
		work.Go(func() {
			n, err := io.Copy(io.Discard, u.server)
			got.Add(n)
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the server saw %v", err)
			}
		})
		work.Go(func() {
			if err := u.end(t); !errors.Is(err, errUsedUp) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("ended with %v", err)
			}
		})
	}
	work.Wait()
	if shared.count() != shared.most || got.Load() > int64(shared.most) {
		t.Errorf("%d were counted and %d came, of %d", shared.count(), got.Load(), shared.most)
	}
}

// A side that breaks breaks the other, which is told of an error and not an end.
func TestReset(t *testing.T) {
	u := newTunnel(t, newPump(), &meter{}, &meter{})
	if _, err := io.WriteString(u.client, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(u.server, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	resetConn(u.server)
	if _, err := u.client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v", err)
	}
	if err := u.end(t); err == nil {
		t.Error("it ended as if nothing had broken")
	}
}

// BenchmarkDownload has io.Copy beside it, which splices as well, and what both
// ends cost in it too.
func BenchmarkDownload(b *testing.B) {
	b.Run("relay", func(b *testing.B) {
		u := newTunnel(b, newPump(), &meter{}, &meter{})
		download(b, u.client, u.server)
	})
	b.Run("copy", func(b *testing.B) {
		client, a := pair(b)
		c, server := pair(b)
		_, _ = a.SetDeadline(time.Time{}), c.SetDeadline(time.Time{})
		go func() { _, _ = io.Copy(a, c) }()
		download(b, client, server)
	})
}

func download(b *testing.B, client, server *net.TCPConn) {
	_, _ = client.SetDeadline(time.Time{}), server.SetDeadline(time.Time{})
	chunk := random(1 << 20)
	b.SetBytes(int64(len(chunk)))
	go func() {
		for {
			if _, err := server.Write(chunk); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, len(chunk))
	before := cpu(b)
	for b.Loop() {
		if _, err := io.ReadFull(client, buf); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Milliseconds())*1024/float64(b.N), "cpu-ms/GiB")
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// unaware is a meter that is bounded once something was read by it.
type unaware struct{ meter }

func (*unaware) Bounded() bool { return false }

// A bound that is set between the question and the read lets nothing above it
// pass, and is given back nothing that it was not asked for.
func TestBoundedMeanwhile(t *testing.T) {
	for _, most := range []int{5, SpliceAfter + 5} {
		up := &unaware{meter{most: most}}
		client, a := pair(t)
		b, server := pair(t)
		_, _ = a.SetDeadline(time.Time{}), b.SetDeadline(time.Time{})
		ended := make(chan error, 1)
		var work sync.WaitGroup
		newPump().Tunnel(work.Go, a, b, up, &meter{}, func(err error) { ended <- err })
		work.Go(func() { _, _ = client.Write(random(most + 1<<20)) })
		n, err := io.Copy(io.Discard, server)
		if n > int64(most) || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("most %d: %d came, %v", most, n, err)
		}
		if err := <-ended; !errors.Is(err, errUsedUp) {
			t.Errorf("most %d: ended with %v", most, err)
		}
		if used := up.count(); used < 0 || used > most {
			t.Errorf("most %d: %d are used", most, used)
		}
		client.Close()
		work.Wait()
	}
}
