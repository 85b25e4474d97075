"""Ends in the way that its first argument names."""
# ruff: noqa

import atexit
import os
import signal
import sys
import threading

if sys.argv[2:] == ["import"]:
    import tensorflow

atexit.register(print, "atexit of the script")


class Own(Exception):
    pass


def inner():
    raise Own("deep", 7)


def chained():
    try:
        inner()
    except Own:
        raise SystemError("on top") from None


def in_thread(what):
    thread = threading.Thread(target=what, name="mine")
    thread.start()
    thread.join()


def join_everybody():
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join()
    print("all joined")


def fork(then):
    read, write = os.pipe()
    pid = os.fork()
    os.close(write)
    if pid == 0:
        os.read(read, 1)  # after the parent has said what it has to say about forking
        then()
        raise SystemExit(9)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def child_imports():
    import tensorflow

    print("child", [type(f).__name__ for f in sys.meta_path if type(f).__name__ == "_Finder"], flush=True)


def blocked_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    os.kill(os.getpid(), signal.SIGUSR1)
    print(signal.sigwait({signal.SIGUSR1}))


def broken_import():
    import broken


WAYS = {
    "quietly": lambda: print("ok"),
    "exit-3": lambda: sys.exit(3),
    "exit-message": lambda: sys.exit("a message"),
    "exit-none": lambda: sys.exit(None),
    "exit-in-thread": lambda: in_thread(lambda: sys.exit(4)),
    "raise": inner,
    "raise-chained": chained,
    "raise-in-thread": lambda: in_thread(inner),
    "interrupt": lambda: signal.raise_signal(signal.SIGINT),
    "terminate": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "hang-up": lambda: os.kill(os.getpid(), signal.SIGHUP),
    "abort": os.abort,
    "os-exit": lambda: os._exit(5),
    "os-exit-in-thread": lambda: in_thread(lambda: os._exit(6)),
    "fork-returns": lambda: fork(lambda: print("child", flush=True)),
    "fork-raises": lambda: fork(inner),
    "fork-imports": lambda: fork(child_imports),
    "join-everybody": join_everybody,
    "blocked-signal": blocked_signal,
    "broken-import": broken_import,
    "missing-import": lambda: __import__("tensorflow.nothing"),
    "reads-input": lambda: print(sys.stdin.read().upper() if not sys.stdin.isatty() else "terminal"),
    "exec": lambda: os.execv(sys.executable, [sys.executable, "-c", "import sys; print(sys.argv)", "again"]),
    "close-all": lambda: (os.closerange(3, 2000), print(os.open("/", os.O_RDONLY))),
}
WAYS[sys.argv[1]]()
print("end of the script")
