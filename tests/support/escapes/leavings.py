"""What agents leave for whoever collects it: links to secrets, things that are no files, names, races."""

from __future__ import annotations

from firetrial_runner.run import Outcome
from support.escapes import MIB, Attempt

_NOTHING = Outcome.AGENT_FAILED

LEAVINGS = (
    Attempt("conclusion-is-a-link", "a file of the host as its conclusion",
        source="os.symlink(T['secret'], 'conclusion.md'); os.symlink('/etc/passwd', 'conclusion.txt')", outcome=_NOTHING),
    Attempt("conclusion-in-a-link", "a folder of the host as its workspace", source="""
os.symlink(os.path.dirname(T['secret']), 'there'); os.symlink('/', 'root')
os.symlink('there/secret', 'conclusion.md')
""", outcome=_NOTHING),
    Attempt("conclusion-is-a-pipe", "a collector that waits for ever", source="""
os.mkfifo('conclusion.md'); os.mkfifo('conclusion.txt'); os.mkfifo('pipe')
socket.socket(socket.AF_UNIX).bind('socket')
""", outcome=_NOTHING),
    Attempt("conclusion-is-a-folder", "a collector that stumbles", source="os.makedirs('conclusion.md/x'); os.mkdir('conclusion.txt')",
        outcome=_NOTHING),
    Attempt("conclusion-that-changes", "a collector that looks twice", source="""
open('plain', 'w').write('plain')
if os.fork() == 0:
    os.setsid()
    while True:
        for target in (T['secret'], 'plain'):
            os.symlink(target, 'new'); os.rename('new', 'conclusion.md')
        open('new', 'w').write('plain'); os.rename('new', 'conclusion.md')
time.sleep(0.3)
os._exit(0)
""", loose=True),
    Attempt("conclusion-of-megabytes", "the judge's memory",
        source="open('conclusion.md', 'w').write('word ' * (4 << 20))", says="word word"),
    Attempt("conclusion-in-codes", "whoever reads it, by terminal codes and bytes that are no text",
        source="open('conclusion.md', 'wb').write(b'held 0\\x1b]0;owned\\x07\\xff\\x00\\xed\\xa0\\x80')", says="held 0"),
    Attempt("artifacts-by-links", "files of the host among its artifacts", source="""
os.makedirs('out')
for n, target in enumerate([T['secret'], '/etc/passwd', '/proc/self/environ', '/agent/agent.py', '../..' + T['secret']]):
    os.symlink(target, f'out/{n}')
os.symlink('out', 'loop'); os.symlink('.', 'out/self')
""", lines=("must(True)",)),
    Attempt("artifacts-by-hard-links", "files of the host by their numbers", source="""
def linked(path, to):
    try: os.link(path, to)
    except OSError: raise
""", lines=("linked('/agent/targets.json', 'x')", "linked('/etc/passwd', 'y')", "linked('/usr/bin/env', 'z')",
            "linked('/proc/self/environ', 'e')")),
    Attempt("artifacts-by-names", "whoever unpacks them, by names", source="""
for name in [b'new\\nline', b'\\x1b[31m', b'\\xff\\xfe', b'a' * 255, b'CON', b'case', b'CASE', b'-rf', b'..x', b'back\\\\slash', b'%2e%2e']:
    open(name, 'w').write('x')
""", lines=("must(True)",)),
    Attempt("artifacts-sparse", "whoever packs them, by holes", source="""
for n in range(20): os.truncate(os.open(f's{n}', os.O_CREAT | os.O_WRONLY), 900 << 20)
""", lines=("must(True)",), limits={"disk_bytes": 1024 * MIB}),
    Attempt("artifacts-without-number", "whoever packs them, by 2,500 files", source="""
for d in range(5):
    os.mkdir(str(d))
    for n in range(500): os.close(os.open(f'{d}/{n}', os.O_CREAT))
""", lines=("must(True)",), limits={"wall": 60}),
    Attempt("artifacts-locked", "files that cannot be read, or removed", source="""
os.makedirs('locked/in'); open('locked/in/x', 'w').write('x')
os.chmod('locked/in/x', 0); os.chmod('locked/in', 0); os.chmod('locked', 0)
""", ends=None, loose=True),
    Attempt("workspace-replaced", "another folder in the place of its workspace", source="""
def swap():
    os.rename('/workspace', '/tmp/w')
def gone():
    os.rmdir('/workspace')
""", lines=("swap()", "gone()", "os.symlink('/etc', '/workspace/../workspace')")),
    Attempt("gateway-turned", "the socket through which the gateway came, and its own in its place", source="""
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
""", lines=("s.bind(('127.0.0.1', 8462)) or s.listen()", "connect('/run/firetrial/gateway.sock', 0, socket.AF_UNIX)",
            "must(not [n for n in os.listdir('/proc/self/fd') if 'socket' in os.readlink(f'/proc/self/fd/{n}') and int(n) != s.fileno()])")),
)  # fmt: skip
