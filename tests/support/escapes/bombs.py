"""What agents exhaust: processes, memory, disks, output, files, connections, time."""

from __future__ import annotations

from firetrial_runner.run import Outcome
from firetrial_runner.sandbox.port import Termination
from support.escapes import MIB, Attempt, lines

_FAILED = Outcome.AGENT_FAILED
_LIVE = """
socks = []
def live():
    found = 0
    for s in socks:
        s.settimeout(0)
        try: found += s.recv(1) != b''
        except BlockingIOError: found += 1
        except OSError: pass
    return found
"""

BOMBS = (
    Attempt("fork-bomb", "all processes", source="""
while True:
    try: os.fork()
    except OSError: pass
""", limits={"wall": 2, "processes": 50}, ends=Termination.TIMED_OUT, outcome=_FAILED, beside_others=True),
    Attempt("thread-bomb", "all threads", source="""
threads = []
def more():
    for _ in range(2000):
        threads.append(threading.Thread(target=time.sleep, args=(30,), daemon=True)); threads[-1].start()
""", lines=("more()", "must(len(threads) < 60)"), limits={"wall": 20, "processes": 50}, ends=Termination.EXITED),
    Attempt("memory-bomb", "all memory", source="x = [bytearray(16 << 20) for _ in range(1000)]",
        limits={"memory_bytes": 150 * MIB}, ends=Termination.OOM_KILLED, outcome=_FAILED, beside_others=True),
    Attempt("memory-without-owner", "memory as files that no process maps", source="""
fds = [os.memfd_create('x') for _ in range(4)]
for n in range(2000): os.write(fds[n % 4], bytes(1 << 20))
""", limits={"memory_bytes": 150 * MIB}, ends=Termination.OOM_KILLED, outcome=_FAILED),
    Attempt("memory-by-files", "memory as files of tmpfs", source="""
def fill(path):
    with open(path, 'wb') as f:
        for _ in range(1024): f.write(bytes(1 << 20)); f.flush()
""", lines=lines("""
        fill('/tmp/x')
        os.unlink('/tmp/x') or fill('/dev/shm/x')
        os.unlink('/dev/shm/x') or fill(os.path.expanduser('~/x'))
        write('/run/x')
    """), limits={"memory_bytes": 600 * MIB}),
    Attempt("disk-bomb", "the disk by one file", source="""
with open('big', 'wb') as f:
    while True: f.write(bytes(1 << 20)); f.flush()
""", limits={"disk_bytes": 20 * MIB}, ends=None, outcome=_FAILED, beside_others=True),
    Attempt("disk-by-many", "the disk by many files, out of sight", source="""
os.makedirs('a/b/c')
n = 0
while True:
    with open(f'a/b/c/{n}', 'wb') as f: f.write(bytes(1 << 20))
    n += 1
""", limits={"disk_bytes": 20 * MIB}, ends=Termination.DISK_LIMIT, outcome=_FAILED),
    Attempt("disk-hidden", "a folder that nobody can look into", source="""
os.makedirs('dark/side'); os.chmod('dark', 0o311 if os.getuid() else 0)
with open('dark/side/x', 'wb') as f:
    for _ in range(40): f.write(bytes(1 << 20))
conclude(); os.chmod('dark', 0); time.sleep(1.5)
""", limits={"disk_bytes": 20 * MIB, "wall": 20}, ends=None, loose=True),
    Attempt("disk-deep", "a tree deeper than a path can name", source="""
for _ in range(60): os.mkdir('d' * 200); os.chdir('d' * 200)
time.sleep(30)
""", ends=Termination.DISK_LIMIT, outcome=_FAILED),
    Attempt("sparse-files", "files that are larger than any disk", lines("""
        os.truncate(os.open('sparse', os.O_CREAT | os.O_WRONLY), 1 << 44)
        os.posix_fallocate(os.open('sparse', os.O_CREAT | os.O_WRONLY), 0, 1 << 40)
    """), source="signal.signal(signal.SIGXFSZ, signal.SIG_IGN)", limits={"disk_bytes": 64 * MIB}),
    Attempt("output-bomb", "the trajectory by output", source="while True: os.write(1, b'x' * 65536)",
        limits={"output_bytes": 4 * MIB}, ends=Termination.OUTPUT_LIMIT, outcome=_FAILED, beside_others=True),
    Attempt("output-by-codes", "the reader's terminal, and its decoder", source="""
os.write(1, b'\\x1b]0;owned\\x07\\x1b[2J\\x1b[8m\\xff\\xfe\\x00\\r\\n' + b'\\xed\\xa0\\x80' + b'\\xe2\\x80\\xae' + b'\\n' * 100)
""", lines=("must(True)",)),
    Attempt("file-bomb", "all open files", source="""
files = []
def more():
    while True: files.append(open('/dev/null'))
""", lines=lines("""
        more()
        must(len(files) < 1100 and (files.clear() or True))
    """)),
    Attempt("time-bomb", "more time, by not hearing that it is over", source="""
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0: os.setsid(); time.sleep(600)
while True: pass
""", limits={"wall": 1.5}, ends=Termination.TIMED_OUT, outcome=_FAILED),
    Attempt("zombies-and-daemons", "a life after the run", source="lasting()\nlasting()\ntime.sleep(0.2)",
        lines=("must(True)",)),
    Attempt("held-output", "a run that never ends, by a daemon that holds its output", source="""
if os.fork() == 0: os.setsid(); time.sleep(600); os._exit(0)
""", lines=("must(True)",), limits={"wall": 20}),
    Attempt("gateway-connections", "all of the runner's open files, by 100,000 connections to the gateway", source=_LIVE + """
def more():
    for n in range(100000):
        s = socket.socket(); s.settimeout(0.5); s.connect(('127.0.0.1', 8462)); socks.append(s)
children = [os.fork() for _ in range(2)]
""", lines=lines("""
        more()
        must(any(live() <= 513 or time.sleep(0.5) for _ in range(20)), live())
        os._exit(0) if 0 in children else must(not [os.waitpid(child, 0) for child in children] == [])
        must(not [s.close() for s in socks] or time.sleep(1) or 'chat.completion' in ask('hello'))
    """), limits={"wall": 40}, beside_others=True),
    Attempt("gateway-slow", "requests that never come to their end", source="""
socks = []
for n in range(300):
    s = socket.create_connection(('127.0.0.1', 8462)); socks.append(s)
    s.sendall(b'POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\nx-a: ' + b'a' * n)
""", lines=("must(True)",), beside_others=True),
    Attempt("gateway-flood", "the gateway's memory, by heads and bodies without end", lines("""
        must(' 200 ' not in spoken(8462, b'GET /v1/models HTTP/1.1\\r\\nx: ' + b'a' * (1 << 20), 3))
        must(' 200 ' not in spoken(8462, b'POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\nauthorization: Bearer '
             + os.environ['OPENAI_API_KEY'].encode() + b'\\r\\ncontent-length: 99999999999\\r\\n\\r\\n' + b'a' * (1 << 20), 2))
        must(not ask('x' * (80 << 20)).startswith('2'))
    """), limits={"memory_bytes": 1024 * MIB, "wall": 60}),
    Attempt("egress-flood", "the egress's connections and heads", source=_LIVE + """
def more():
    for n in range(2000):
        s = socket.socket(); s.settimeout(0.5); s.connect(('127.0.0.1', 8463)); socks.append(s)
""", lines=lines("""
        more()
        time.sleep(0.5) or must(live() <= 80, live())
        [s.close() for s in socks] and time.sleep(0.3) or proxied('GET http://good.example/' + 'a' * 200000)
    """), network={"reach": "REACH_LISTED", "hosts": ["good.example"]}, beside_others=True, limits={"wall": 30}),
)  # fmt: skip
