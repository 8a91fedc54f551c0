# Uses up one thing and holds it: besiege.py WHAT HELD. It runs in a guest of the
# siege alone, is bounded by the guest's limits, and ends by itself after 80 seconds:
# the test waits for nothing as long as that.
import errno, fcntl, mmap, os, select, signal, socket, sys, threading, time

what, held = sys.argv[1:]
end = time.monotonic() + 80
if os.path.exists("/var"):
    sys.exit("besiege.py runs in a guest alone")


def hold():
    time.sleep(max(0, end - time.monotonic()))


def wait(name):
    """Until the test makes the file."""
    while not os.path.exists(os.path.join(os.path.dirname(held), name)) and time.monotonic() < end:
        time.sleep(0.02)


def each(make, most=1 << 20):
    kept = []
    try:
        while len(kept) < most:
            kept.append(make())
    except (OSError, MemoryError):
        pass
    return kept


def children(work, most=60):
    """Runs work in as many processes as there may be, and waits until each holds."""
    r, w = os.pipe()
    pids = []
    for _ in range(most):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            os.close(r)
            kept = work()
            os.write(w, b".")
            hold()
            os._exit(0)
        pids.append(pid)
    os.close(w)
    for _ in pids:
        if not os.read(r, 1):
            break


def watches():
    fds = [fd for pair in each(os.pipe, 63) for fd in pair]
    polls = each(select.epoll, 140)
    for p in polls:
        for fd in fds:
            try:
                p.register(fd, select.EPOLLIN)
            except OSError:
                return fds, polls
    return fds, polls


def full(pair):
    one, other = pair
    os.set_blocking(one, False)
    try:
        while True:
            os.write(one, b"x" * 65536)
    except OSError:
        return pair


def fill(folder, size, most):
    def one():
        name = os.path.join(folder, f"{os.getpid()}-{time.monotonic_ns()}")
        with open(name, "wb") as f:
            while size and f.write(b"\0" * (1 << 20)) and f.tell() < size:
                pass
    try:
        each(one, most)
    except OSError as e:
        if e.errno != errno.ENOSPC:
            raise


def touched(m):
    for i in range(0, len(m), 4096):
        m[i] = 1
    return m


def sockets():
    return [full((a.detach(), b.detach())) for a, b in each(socket.socketpair, 100)]


def connections():
    """Connections that nobody accepts, of listeners that each child has of its own."""
    listeners = []
    for _ in range(40):
        l = socket.socket()
        l.bind((f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.1", 0))
        l.listen(4096)
        listeners.append(l)
        for _ in range(200):
            with socket.socket() as c:
                c.connect(l.getsockname())
    return listeners


def locks():
    files = [open(f"/tmp/{os.getpid()}-{i}", "wb") for i in range(100)]
    for f in files:
        for at in range(1000, 0, -1):  # never two that touch
            fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * at)
    return files


def refused():
    for _ in range(3000):
        try:
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
        except OSError:
            pass


def spin():
    until = time.monotonic() + 3
    while time.monotonic() < until:
        pass


def storm():
    """Threads that wake one another: each wait is short, and each wake wakes all."""
    def whirl(mine, other):
        while time.monotonic() < end:
            with mine:
                mine.wait(0.0005)
            with other:
                other.notify_all()

    def begin():
        wait("all")  # until it is seen that every guest holds
        a, b = threading.Condition(), threading.Condition()
        for i in range(18):
            threading.Thread(target=whirl, args=(a, b) if i % 2 else (b, a), daemon=True).start()

    children(lambda: threading.Thread(target=begin, daemon=True).start(), 3)


acts = {
    "descriptors": lambda: children(lambda: each(lambda: os.open("/dev/null", os.O_RDONLY))),
    "watches": lambda: children(watches),
    "tasks": lambda: children(lambda: None, 100_000),
    "pipes": lambda: children(lambda: [full(p[::-1]) for p in each(os.pipe, 100)]),
    "sockets": lambda: children(sockets),
    "connections": lambda: children(connections),
    "locks": lambda: children(locks, 8),
    "memory": lambda: each(lambda: bytearray(b"x" * (8 << 20)), 64),
    "shared memory": lambda: each(lambda: touched(mmap.mmap(-1, 8 << 20)), 64),
    "temporary files": lambda: fill("/tmp", 8 << 20, 64),
    "disk": lambda: fill(os.path.dirname(held), 64 << 20, 8),
    "inodes": lambda: fill(os.path.dirname(held), 0, 50_000),
    "processors": lambda: children(lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN) or spin(), 8),
    "places": lambda: None,
    "threads": storm,
    "refusals": refused,
}

# Made before any guest uses up what it needs; the test says when all are there.
with open(held + ".now", "w"):
    pass
wait("go")
kept = acts[what]()
os.rename(held + ".now", held)
hold()
