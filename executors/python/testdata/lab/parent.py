# The parent of a program in the lab: it has something to lose (an environment, a process, an open
# file), and it serves whoever comes: over TCP, UDP and an abstract socket.
# Arguments: PORT, NAME, OUTSIDE, and what to start with descriptors 3 and 4 as they are.
import fcntl, os, socket, subprocess, sys, threading

port, name, outside = int(sys.argv[1]), sys.argv[2], sys.argv[3]
secret = os.open("/etc/passwd", os.O_RDONLY)
os.dup2(fcntl.fcntl(secret, fcntl.F_DUPFD, 20), 9)


def serve(family, address):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(address)
    s.listen(20)

    def answer(c):
        try:
            c.settimeout(0.2)
            try:
                c.recv(100)
            except OSError:
                pass
            c.sendall(b"HTTP/1.1 404 no\r\nContent-Length: 2\r\n\r\nno")
        except OSError:
            pass
        c.close()

    def accept():
        while True:
            threading.Thread(target=answer, args=(s.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def echo():
    while True:
        b, a = u.recvfrom(600)
        u.sendto(b, a)


serve(socket.AF_INET, ("0.0.0.0", port))
serve(socket.AF_INET6, ("::1", port))
serve(socket.AF_UNIX, "\0" + name)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("127.0.0.1", port))
threading.Thread(target=echo, daemon=True).start()
os.chmod(outside, 0o777)
with open(outside + "/there", "w") as f:
    f.write("x")
with open("/dev/shm/" + name, "w") as f:
    f.write("x")
os.environ["SECRET"] = "of the lab"
child = subprocess.Popen(sys.argv[4:], pass_fds=(3, 4, 9))
code = child.wait()
os._exit(code if code >= 0 else 128 - code)
