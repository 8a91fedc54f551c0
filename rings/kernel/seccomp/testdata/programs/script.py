import asyncio, json, multiprocessing, os, sqlite3, ssl, subprocess, sys, tempfile, threading, socket, hashlib, shutil, pathlib, queue, signal, time


def square(n):
    return n * n


async def task(n):
    await asyncio.sleep(0.001)
    p = await asyncio.create_subprocess_exec("/bin/echo", str(n), stdout=subprocess.PIPE)
    return int((await p.communicate())[0])


def main():
    os.chdir(sys.argv[1])
    assert json.loads(json.dumps({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}
    db = sqlite3.connect("x.db")
    db.execute("pragma journal_mode=wal")
    db.execute("create table t (n)")
    db.executemany("insert into t values (?)", [(i,) for i in range(100)])
    db.commit()
    assert db.execute("select sum(n) from t").fetchone() == (4950,)
    db.close()
    ssl.create_default_context()
    assert subprocess.run(["/bin/sh", "-c", "echo $((1+1))"], capture_output=True, check=True).stdout == b"2\n"
    results = queue.Queue()
    threads = [threading.Thread(target=lambda i=i: results.put(i)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results.qsize() == 4
    assert asyncio.run(task(7)) == 7
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(square, range(4)) == [0, 1, 4, 9]
    a, b = socket.socketpair()
    a.sendall(b"x")
    assert b.recv(1) == b"x"
    with tempfile.TemporaryDirectory() as d:
        pathlib.Path(d, "f").write_text("x")
        shutil.copytree(d, "copy")
    hashlib.sha256(os.urandom(8)).hexdigest()
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(0.001)
    print("python works")


if __name__ == "__main__":
    main()
