import http.server, socket, sys, threading, urllib.request

srv = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=srv.serve_forever, daemon=True).start()
with urllib.request.urlopen("http://127.0.0.1:%d/" % srv.server_port, timeout=10) as r:
    assert r.status == 200
srv.shutdown()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("127.0.0.1", 0))
u.sendto(b"x", u.getsockname())
assert u.recv(1) == b"x"
socket.getaddrinfo("127.0.0.1", 80)
print("network works")
