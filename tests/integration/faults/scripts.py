"""Scripts that take more than a line. They mark what happened to them; a plain run marks the same."""

#: Waits until the fault has happened.
WAITS = "ready(); until_told(); mark('end')"

#: Hears every signal that can be heard, and goes on.
HEARS = """
got, heard = set(), [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1]
for number in heard:
    signal.signal(number, lambda number, frame: got.add(number))
ready(); until_told()
while len(got) < 5: time.sleep(0.01)
mark(sorted(got))
"""

#: Saves its state on Ctrl-C, and says so by its exit code.
SAVES = """
try:
    ready(); until_told(); time.sleep(60)
except KeyboardInterrupt:
    mark('saved'); sys.exit(7)
"""

#: The handler of a signal raises, mostly in the middle of a garbage collection.
RAISES_IN_COLLECTION = """
class Alarm(Exception): pass
def ring(number, frame): raise Alarm
signal.signal(signal.SIGALRM, ring)
kept = [[] for _ in range(200_000)]
def once():
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        end = time.monotonic() + 0.1
        while time.monotonic() < end: gc.collect()
        return 0
    except Alarm:
        return 1
mark(sum(once() for _ in range(20)))
"""

#: The same while modules are imported, and while frames are made and thrown away.
RAISES_IN_IMPORTS = """
class Alarm(Exception): pass
def ring(number, frame): raise Alarm
signal.signal(signal.SIGALRM, ring)
import importlib.util, json, email, colorsys
def once(work):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        end = time.monotonic() + 0.2
        while time.monotonic() < end: work()
        return 0
    except Alarm:
        return 1
def look(): importlib.util.find_spec('tensorflow'); importlib.util.find_spec('numpy')
def again(): sys.modules.pop('colorsys', None); import colorsys
ignored = []  # Python itself loses what is raised in the callback that removes the lock of a module
sys.unraisablehook = lambda what: ignored.append(what.object.__qualname__.startswith('_get_module_lock'))
mark(sum(once(look) for _ in range(30)), sum(once(again) for _ in range(30)) + sum(ignored), all(ignored))
"""

#: Closes all descriptors, as daemons do, and gets their numbers again for its own.
TAKES_NUMBERS = """
import socket
os.closerange(3, 256)
pairs = [socket.socketpair() for _ in range(100)]
time.sleep(0.5)
got = 0
for pair in pairs:
    for end in pair:
        end.setblocking(False)
        try: got += len(end.recv(4096))
        except BlockingIOError: pass
mark(got)
for pair in pairs:
    pair[0].sendall(b'mine'); mark(pair[1].recv(100))
"""

#: Puts a file of its own over whatever descriptors there are.
COVERS_DESCRIPTORS = """
import fcntl
path = _place + '/own'
file = os.open(path, os.O_RDWR | os.O_CREAT)
for number in range(file + 1, 1024):
    try: fcntl.fcntl(number, fcntl.F_GETFD)
    except OSError: continue
    os.dup2(file, number)
time.sleep(0.3)
os.write(file, b'mine')
with open(path, 'rb') as back: mark(back.read())
"""

#: The main thread is in one long call into C while another allocates.
LONG_CALL = """
def allocate():
    kept = [numpy.ones(2_000_000) for _ in range(8)]
    while not over: kept.append([[] for _ in range(1000)]); gc.collect(); time.sleep(0.01)
over = []
thread = threading.Thread(target=allocate); thread.start()
threading.Timer(1.2, ready).start()
time.sleep(3)
over.append(1); thread.join(); mark('end')
"""

#: Steps of two threads overlap.
OVERLAPPING_STEPS = """
import tfslowtop
def work(seconds):
    for _ in range(60):
        with tfslowtop.step(): time.sleep(seconds)
threads = [threading.Thread(target=work, args=(s,)) for s in (0.004, 0.011, 0.002)]
[t.start() for t in threads]; [t.join() for t in threads]; mark('end')
"""

DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3): os.close(number)
        mark('daemon', os.getppid() != 0, sorted(map(int, os.listdir('/proc/self/fd')))[:-1]); os._exit(0)
    os._exit(0)
os.wait()
while not os.path.exists(_place + '/marks'): time.sleep(0.01)
time.sleep(0.05); mark('parent')
"""

POOLS = """
import multiprocessing
def work(x): import numpy; return int(numpy.square(x)), threading.active_count()
if __name__ == '__main__':
    for method in METHODS:
        with multiprocessing.get_context(method).Pool(2) as pool:
            mark(method, sorted(pool.map(work, [1, 2, 3])))
"""

#: What a child that was started by exec has from us: nothing.
CHILD = """
import subprocess
code = 'import os, sys; print(sorted(os.environ), sorted(map(int, os.listdir("/proc/self/fd"))), sys.path)'
mark(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, close_fds=False).stdout)
"""

#: A debugger, a coverage tool, whose trace function keeps the garbage collector busy, also in our own frames.
TRACES_CALLS = """
seen, kept = [], []
def trace(frame, event, argument):
    kept.append([])
    if frame.f_code.co_filename == __file__: seen.append(event)
    return trace
def work(): return [[] for _ in range(2000)]
for place in (sys.settrace, sys.setprofile):
    place(trace)
    for _ in range(50): work()
    place(None)
mark(len(seen))
"""

#: Writes through our own socket, and hangs up on it.
TALKS_FOR_US = """
import socket
found = []
for number in range(3, 1024):
    try: sock = socket.socket(fileno=os.dup(number))
    except OSError: continue
    if sock.family == socket.AF_UNIX: found.append((number, sock))
for number, sock in found:
    WHAT
time.sleep(0.3); mark('end')
"""

#: A stranger at the watcher's door: no token, half a frame, a token that is no text.
STRANGERS = """
import glob, json, socket, struct
doors = glob.glob(_place + '/r/*/agent') + glob.glob(_place + '/s/*/agent')
hello = json.dumps({'protocol': 1, 'token': '\\ud800', 'pid': 10**30, 'python': '3'}).encode()
for words in (b'', b'GET / HTTP/1.1', bytes(100), struct.pack('!IB', 4, 0), struct.pack('!IB', 2**31, 0),
              *(struct.pack('!IB', len(hello), kind) + hello for kind in range(0, 40))):
    for door in doors:
        with socket.socket(socket.AF_UNIX) as sock:
            try: sock.connect(door); sock.sendall(words)
            except OSError: pass
    time.sleep(0.005)
mark('end')
"""

#: Everything that the agent might call, replaced by something that raises.
BREAKS_MODULES = """
import socket, json, struct, types
def broken(*a, **k): raise RuntimeError('patched')
real_sleep = time.sleep
for module, names in ((time, 'perf_counter_ns thread_time_ns process_time_ns monotonic'),
                      (socket, 'socket'), (struct, 'pack unpack'), (json, 'dumps loads'), (gc, 'get_objects'),
                      (sys, '_getframe _current_frames'), (os, 'getpid listdir')):
    for name in names.split(): setattr(module, name, broken)
real_sleep(0.4)
[[] for _ in range(100_000)]
gc.collect()
with open(_place + '/marks', 'a') as file: file.write('end')
"""

#: A clock that stands still, as in tests.
FROZEN_CLOCK = """
zero = time.time(); real_sleep = time.sleep
for name in ('time', 'monotonic', 'perf_counter'): setattr(time, name, lambda: 0.0)
for name in ('time_ns', 'monotonic_ns', 'perf_counter_ns', 'thread_time_ns', 'process_time_ns'):
    setattr(time, name, lambda: 0)
time.sleep = lambda seconds: None
for _ in range(5): gc.collect(); real_sleep(0.1)
with open(_place + '/marks', 'a') as file: file.write('end')
"""

#: Imports NumPy under hooks of its own.
OWN_FINDER = """
asked = set()
class Finder:
    def find_spec(self, name, path=None, target=None):
        asked.add(name)
        if name == 'tensorflow': raise ImportError('not here')
sys.meta_path.insert(0, Finder())
import numpy
mark('numpy' in asked, type(numpy.__loader__).__name__, type(numpy.__spec__.loader).__name__)
try: import tensorflow
except ImportError as error: mark(error)
"""

NO_FINDERS = """
sys.meta_path[:] = [f for f in sys.meta_path if isinstance(f, type)]
os.environ.clear(); os.environ['FAULT_PLACE'] = _place
import numpy; mark(len(sys.meta_path), sorted(os.environ))
"""

#: A sandbox of its own: no sockets, no ctypes.
AUDITED = """
def audit(event, arguments):
    if event.startswith(('socket.', 'ctypes.')): raise PermissionError(event)
sys.addaudithook(audit)
import numpy
time.sleep(0.3); mark('end')
"""

DEEP = """
sys.setrecursionlimit(120)
def down(n):
    kept = [[] for _ in range(800)]
    return 1 + down(n + 1) if n < 100 else len(kept)
for _ in range(5):
    try: down(0)
    except RecursionError: mark('too deep'); break
mark('end')
"""

WAKEUP = """
import socket
a, b = socket.socketpair(); a.setblocking(False); b.setblocking(False)
signal.set_wakeup_fd(a.fileno()); signal.signal(signal.SIGUSR1, lambda *_: None)
for _ in range(5): os.kill(os.getpid(), signal.SIGUSR1); time.sleep(0.05)
mark(b.recv(100))
"""

ASYNC = """
import asyncio
async def main():
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, heard.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(heard.wait(), 10)
    process = await asyncio.create_subprocess_exec('true')
    mark(await process.wait())
asyncio.run(main())
"""

IMPORTS_AT_EXIT = (
    "import atexit\ndef late():\n    import numpy; mark(numpy.arange(3).sum())\natexit.register(late)"
)

THREAD_OUTLIVES = """
def work(): time.sleep(0.3); import numpy; mark(int(numpy.arange(4).sum()))
threading.Thread(target=work).start(); mark('main is over')
"""

SUDDEN_LIMITS = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)); time.sleep(0.3)
files = []
try:
    while True: files.append(open('/dev/null'))
except OSError as error: mark(error.errno)
"""

LITTLE_MEMORY = """
import resource
pages = int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGESIZE')
resource.setrlimit(resource.RLIMIT_AS, (pages + 64_000_000,) * 2)
kept = []
try:
    while True: kept.append(bytearray(1_000_000))
except MemoryError: mark('no memory')
time.sleep(0.2); kept.clear(); mark('end')
"""

REPLACES_ITSELF = """
if len(sys.argv) < 2: os.execv(sys.executable, [sys.executable, *sys.argv, 'again'])
mark(sys.argv[1:], sorted(os.environ))
"""

CHANGES_PLACE = """
os.unlink(__file__); here = os.getcwd(); os.chdir('/'); import shutil; shutil.rmtree(here)
time.sleep(0.3); mark(os.getcwd()); raise ValueError('without a source')
"""

#: What is called in /proc/<pid>/stat as somebody likes it.
ODD_PROCESS_NAME = """
import ctypes
ctypes.CDLL(None).prctl(15, b') R 1 (\\n', 0, 0, 0); time.sleep(0.4); mark('end')
"""

PRINTS = "for _ in range(50_000): print('x' * 99)\nmark('end')"

#: What a watcher that was killed leaves in the script: nothing.
LOOKS_AT_ITSELF = """
def look():
    files = sorted(n for n in map(int, os.listdir('/proc/self/fd')) if n >= 900)
    return files, len(os.listdir('/proc/self/task')), len(gc.callbacks), len(sys.meta_path)
alone = ([], 1, 0, 4 if any('distutils' in type(f).__module__ for f in sys.meta_path) else 3)
ready(); until_told(); end = time.monotonic() + 20
while look() != alone and time.monotonic() < end: time.sleep(0.02)
mark(look())
"""

#: Objects whose every method says that it was called, kept in containers that grow.
TELLTALES = """
called = []
def said(name, result=None): return lambda *a: called.append(name) or result
class Meta(type):
    __eq__, __hash__ = said('meta eq', True), said('meta hash', 1)
    __dict__, __name__, __mro__ = (property(said(n)) for n in ('meta dict', 'meta name', 'meta mro'))
class Thing(metaclass=Meta):
    __eq__, __bool__, __len__ = said('eq', True), said('bool', True), said('len', 3)
    __getattr__, __dict__ = said('getattr'), property(said('dict', {}))
    __class__ = property(said('class', int))
class Longer(list): __len__, __iter__ = said('list len', 0), said('list iter')
few, many, longer, kept = [Thing() for _ in range(3)], [Thing() for _ in range(40)], Longer([[1]]), []
called.clear()
end = time.monotonic() + 1.2
while time.monotonic() < end: kept.append(numpy.ones(100_000)); time.sleep(0.01)
mark(sorted({str(name) for name in called}))
"""

#: Collects garbage at almost every allocation, as one does to provoke errors.
LOW_THRESHOLD = """
gc.set_threshold(1, 1, 1); kept = [[] for _ in range(20_000)]; gc.set_threshold(700, 10, 10)
mark(gc.get_stats()[0]['collections'] < 40_000)
"""

#: Code whose file is the script's own input, as of `python /dev/stdin`; what is in the pipe is the script's.
NAMED_AS_INPUT = """
code = "for _ in range(120): kept.append(numpy.ones(200_000)); time.sleep(0.01)"
kept = []
exec(compile(code, '/dev/stdin', 'exec'))
mark(sys.stdin.readline())
"""
