"""What agents want to read: ground truth, the host, other runs, keys."""

from __future__ import annotations

from support.escapes import Attempt, lines

READING = (
    Attempt("host-file", "a file of the host by its path", lines("""
        read(T['secret'])
        os.listdir(os.path.dirname(T['secret']))
        read('/proc/self/root' + T['secret'])
        read('/workspace/../..' + T['secret'])
        open(os.open('/', os.O_PATH) and T['secret'])
    """)),
    Attempt("host-accounts", "passwords, homes and service secrets of the host", lines("""
        read('/etc/shadow')
        read('/root/.ssh/id_rsa')
        os.listdir('/root/.ssh')
        os.listdir('/home/' + T['user'])
        read('/etc/machine-id')
        read('/run/secrets/kubernetes.io/serviceaccount/token')
        read('/var/run/secrets/kubernetes.io/serviceaccount/token')
    """)),
    Attempt("other-workspaces", "what other runs have, by path and by climbing", lines("""
        os.listdir(T['work_dir'])
        read(T['neighbour'])
        os.listdir('/proc/1/root' + T['work_dir'])
        must(not [p for p in glob.glob('/workspace/../*/workspace/*')])
        must(not [l for l in open('/proc/self/mountinfo') if 'neighbour' in l])
    """)),
    Attempt("truth-by-path", "the store of ground truths as a folder", lines("""
        os.listdir(T['store'])
        read(T['store'] + '/truth/secret.json')
        must(not glob.glob('/**/truth/*', recursive=False))
    """)),
    Attempt("truth-by-package", "findings that come with this project's packages, beside Python's own", lines("""
        read(T['package'] + '/tasks.json')
        must(T['mark'].encode() not in b''.join(map(read, glob.glob(T['package'] + '/**', recursive=True))))
        open(T['package'] + '/planted', 'w')
        must(not [p for p in glob.glob(sys.prefix + '/**/firetrial*/**', recursive=True) if os.path.isfile(p)])
        must(not [p for p in sys.path for f in glob.glob(p + '/firetrial*/*')])
    """)),
    Attempt("truth-by-network", "the store of ground truths as a server", lines("""
        connect('127.0.0.1', T['port'])
        connect(T['address'], T['port'])
        urllib.request.urlopen(f"http://127.0.0.1:{T['port']}/truth/?list-type=2", timeout=3).read()
        must(not [n for n in os.environ if 'S3' in n or 'SECRET' in n or 'NATS' in n or 'AWS' in n])
    """)),
    Attempt("docker-socket", "the engine that could start anything", lines("""
        socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')
        socket.socket(socket.AF_UNIX).connect('/run/docker.sock')
        socket.socket(socket.AF_UNIX).connect('/run/containerd/containerd.sock')
        socket.socket(socket.AF_UNIX).connect(T['docker'])
        connect('127.0.0.1', 2375)
    """)),
    Attempt("abstract-sockets", "sockets that have no path and so no permissions", lines("""
        socket.socket(socket.AF_UNIX).connect(chr(0) + T['abstract'])
        must(T['abstract'] not in open('/proc/net/unix').read())
        socket.socket(socket.AF_UNIX).connect(T['unix'])
    """)),
    Attempt("runner-by-proc", "environment, arguments and memory of the runner", lines("""
        read(f"/proc/{T['pid']}/environ") and must(T['pid'] not in map(int, filter(str.isdigit, os.listdir('/proc'))))
        must(not any(T['hint'].encode() in read(p) for p in glob.glob('/proc/[0-9]*/cmdline')))
        must(not any(b'REAL_KEY' in read(p) for p in glob.glob('/proc/self/environ')))
        must(len([n for n in os.listdir('/proc') if n.isdigit()]) < 8)
        must(os.uname().nodename == 'sandbox')
        read('/proc/1/mem')
        must(b'REAL_KEY' not in read('/proc/1/environ') and T['hint'].encode() not in read('/proc/1/environ'))
        os.readlink('/proc/1/exe') and os.listdir('/proc/1/root/' + T['work_dir'])
    """)),
    Attempt("inherited-files", "files that were open when the sandbox was made", lines("""
        must(not [n for n in os.listdir('/proc/self/fd') if int(n) > 2 and os.path.exists(f'/proc/self/fd/{n}')])
        must(all(stat.S_ISFIFO(os.fstat(n).st_mode) for n in (1, 2)))
        os.readlink('/proc/self/fd/0') == '/dev/null' and must(True)
        must(not [f for f in glob.glob('/proc/*/fd/*') if os.readlink(f).startswith(('socket:', '/')) and os.readlink(f) != '/dev/null'])
    """), alone=True),
    Attempt("shared-memory", "segments and queues of the host", lines("""
        must(len(open('/proc/sysvipc/shm').readlines()) == 1)
        check(libc.shmget(T['shm'], 1, 0))
        must(not os.listdir('/dev/mqueue') if os.path.isdir('/dev/mqueue') else True)
        must(not os.listdir('/dev/shm'))
    """)),
    Attempt("kernel-memory", "memory and disks as devices", lines("""
        read('/dev/mem')
        read('/dev/kmem')
        read('/proc/kcore')
        read('/dev/kmsg')
        read('/dev/sda')
        read('/dev/vda')
        read('/dev/nvme0n1')
        read('/dev/fuse')
        read('/dev/kvm')
        os.mknod('/workspace/mem', 0o60600, os.makedev(1, 1))
        os.mknod('/workspace/disk', 0o60600, os.makedev(8, 0))
        os.mknod('/workspace/tty', 0o20600, os.makedev(5, 0))
    """)),
    Attempt("kernel-log", "the kernel's messages and symbols", lines("""
        check(libc.klogctl(3, ctypes.create_string_buffer(4096), 4096))
        must(all(l.startswith('0' * 16) for l in open('/proc/kallsyms')) if os.access('/proc/kallsyms', os.R_OK) else True)
    """)),
    Attempt("keyrings", "keys that the kernel keeps for the runner", lines("""
        syscall(250, 0, -3, 0)
        syscall(250, 0, -1, 1, 0, 0)
        syscall(249, b'user', b'firetrial', None, -3)
        syscall(248, b'user', b'x', b'y', 1, -3)
    """)),
    Attempt("runner-code", "the runner's folders and settings", lines("""
        read(T['repository'] + '/pyproject.toml')
        os.listdir(T['repository'] + '/services')
        os.listdir(T['repository'] + '/.git')
        must(not [p for p in sys.path if 'services/runner' in p])
        must('firetrial' not in ' '.join(os.environ.values()).lower().replace('/run/firetrial', ''))
    """)),
)  # fmt: skip

KEYS = (
    Attempt("key-in-answers", "an upstream that says the key: whole, in a stream, in errors, in headers",
        source="""
answers = [ask('echo'), ask('echo', stream=True), ask('split', stream=True), ask('fail'), ask('header'), ask('refuse')]
print(answers)
open('answers.txt', 'w').write(repr(answers))
""", lines=("must(not any(T['hint'] in answer for answer in answers))",)),
    Attempt("key-in-the-sandbox", "the key in environment, files, arguments, and process memory", source="""
def everywhere():
    for path in [*glob.glob('/proc/[0-9]*/environ'), *glob.glob('/proc/[0-9]*/cmdline'), *glob.glob('/run/**', recursive=True),
                 *glob.glob('/etc/**', recursive=True), *glob.glob('/agent/**', recursive=True),
                 *glob.glob('/workspace/**', recursive=True), *glob.glob('/home/**', recursive=True)]:
        try: yield path, read(path)
        except OSError: pass
""", lines=("must(not [p for p, d in everywhere() if T['hint'].encode() in d and not p.startswith('/agent/')])",)),
    Attempt("key-by-core", "a core dump of what held the key", source="""
resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE))
if os.fork() == 0: os.abort()
status = os.wait()[1]
""", lines=lines("""
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))
        must(not os.WCOREDUMP(status))
        must(not glob.glob('/workspace/core*'))
    """)),
    Attempt("other-tokens", "models on other runs' tokens, on none, and on words that are no token", lines("""
        must(ask('hello', token='x' * 43).startswith('401'))
        must(ask('hello', token='Bearer').startswith('401'))
        must(ask('hello', token=os.environ['OPENAI_API_KEY'][:-1]).startswith('401'))
    """)),
)  # fmt: skip

STEAL_TRUTH = Attempt("truth-by-protocol", "a ground truth in the store, by the store's own protocol", lines("""
    connect(T['s3_host'], T['s3_port'])
    urllib.request.urlopen(T['s3'] + '/truth/truth/t/truth.json', timeout=3).read()
    must(not [n for n in os.environ if T['s3_secret'] in os.environ[n]])
    must(not [p for p in glob.glob('/proc/*/environ') + glob.glob('/agent/*.py') if T['s3_secret'].encode() in read(p)])
"""))  # fmt: skip
