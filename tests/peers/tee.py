"""Passes a server's three pipes on and keeps a copy of each: `tee.py FOLDER -- COMMAND…`.

The copies are `FOLDER/<process id>/stdin`, `stdout` and `stderr`: each run has a folder, as some clients start a
server twice. Signals of the client that would end it go to the server.
"""

import os
import signal
import subprocess
import sys
import threading


def carry(source, target, copy, close):
    """Copies until the source ends or the target is gone; closes the target where its end must be seen."""
    with open(copy, "wb", buffering=0) as kept:
        while block := os.read(source, 65536):
            kept.write(block)
            view = memoryview(block)
            try:
                while view:
                    view = view[os.write(target, view) :]
            except BrokenPipeError:
                break
    if close:
        os.close(target)


def main():
    """Starts the server and carries its pipes."""
    split = sys.argv.index("--")
    folder = os.path.join(sys.argv[split - 1], str(os.getpid()))
    os.makedirs(folder)
    pipe = subprocess.PIPE
    server = subprocess.Popen(sys.argv[split + 1 :], stdin=pipe, stdout=pipe, stderr=pipe)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: server.send_signal(number))
    stdin = os.dup(server.stdin.fileno())
    server.stdin.close()
    paths = [
        (0, stdin, "stdin", True),
        (server.stdout.fileno(), 1, "stdout", True),
        (server.stderr.fileno(), 2, "stderr", False),
    ]
    threads = [
        threading.Thread(target=carry, args=(source, target, os.path.join(folder, name), close), daemon=True)
        for source, target, name, close in paths
    ]
    for thread in threads:
        thread.start()
    code = server.wait()
    for thread in threads[1:]:
        thread.join()
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
