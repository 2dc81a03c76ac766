"""What agents want to become, and to change: root, other namespaces, the kernel, what they were given."""

from __future__ import annotations

from support.escapes import Attempt, lines

RIGHTS = (
    Attempt("write-outside", "files outside the workspace", lines("""
        write('/x')
        write('/usr/x')
        write('/usr/bin/python3')
        write('/etc/x')
        write('/etc/passwd')
        write('/dev/x')
        write('/run/x')
        write('/opt/x')
        write('/home/x')
        write(sys.prefix + '/x')
        write('/run/firetrial/launch.py')
        os.symlink('/workspace', '/agent/x')
        os.rename('/usr/bin', '/usr/x')
    """)),
    Attempt("write-agent", "its own bundle, and by hard links to it", lines("""
        write('/agent/agent.py')
        write('/agent/new')
        os.unlink('/agent/agent.py')
        os.chmod('/agent/agent.py', 0o777)
        os.utime('/agent/agent.py')
        os.link('/agent/agent.py', '/workspace/conclusion.txt')
        os.rename('/agent/agent.py', '/workspace/agent.py')
    """)),
    Attempt("mount", "mounts, by the old calls and the new", lines("""
        check(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))
        check(libc.mount(b'/', b'/workspace', None, 4096, None))
        check(libc.mount(None, b'/', None, 32 | 4096, None))
        check(libc.mount(b'proc', b'/workspace', b'proc', 0, None))
        check(libc.umount2(b'/proc', 2))
        syscall(428, -100, b'/', 1)
        syscall(429, -100, b'/tmp', -100, b'/workspace', 0)
        syscall(430, b'tmpfs', 0)
        syscall(433, -100, b'/', 0)
        syscall(442, -100, b'/', 0, b'0' * 32, 32)
        subprocess.run(['mount', '-t', 'tmpfs', 'none', '/tmp'], check=True, stderr=subprocess.PIPE)
    """)),
    Attempt("change-root", "another root", lines("""
        os.chroot('/tmp')
        syscall(155, b'/tmp', b'/tmp')
        os.chdir('/proc/1/root/root')
        os.listdir('/proc/1/cwd/../root')
    """)),
    Attempt("namespaces", "namespaces of its own, in which it would be root", lines("""
        check(libc.unshare(0x10000000))
        check(libc.unshare(0x00020000))
        check(libc.unshare(0x10000000 | 0x00020000))
        check(libc.unshare(0x40000000))
        check(libc.unshare(0x02000000))
        check(libc.unshare(0x20000000))
        subprocess.run(['unshare', '-Ur', 'id'], check=True, stderr=subprocess.PIPE)
        syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
        syscall(435, (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17), 88)
        syscall(308, os.open('/proc/1/ns/net', os.O_RDONLY), 0)
        syscall(308, os.open('/proc/self/ns/user', os.O_RDONLY), 0)
    """)),
    Attempt("become-another", "other users and groups", lines("""
        os.setuid(0)
        os.setgid(0)
        os.setgroups([0])
        os.setresuid(0, 0, 0)
        must(0 not in os.getresuid() + os.getresgid())
        must(0 not in os.getgroups())
        write('/proc/self/uid_map')
        os.chown('/workspace', 0, 0)
    """)),
    Attempt("setuid-programs", "programs that run as their owner", source="""
shutil.copy('/bin/sh', 'shell'); os.chmod('shell', 0o6755)
def as_owner(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=10)
    if '0' in re.findall(r'euid=(\\d+)|^(\\d+)$', done.stdout): return done.stdout
    if done.returncode == 0 and done.stdout.strip() == '0': return done.stdout
    raise PermissionError(done.stderr)
""", lines=lines("""
        as_owner('./shell', '-p', '-c', 'id -u')
        as_owner('su', '-c', 'id -u')
        as_owner('sudo', '-n', 'id', '-u')
        as_owner('newuidmap', str(os.getpid()), '0', '0', '1')
        as_owner('pkexec', 'id', '-u')
        must([l for l in open('/proc/self/status') if l.startswith('NoNewPrivs')][0].split()[1] == '1')
    """)),
    Attempt("capabilities", "capabilities, from files, from itself, from its parents", lines("""
        os.setxattr('/workspace/instruction.txt', 'security.capability', b'\\x01\\0\\0\\x02' + b'\\xff' * 16)
        check(libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)))
        check(libc.prctl(47, 2, 21, 0, 0))
        check(libc.prctl(38, 0, 0, 0, 0))
        check(libc.prctl(28, 0, 0, 0, 0))
        must(all(int(l.split()[1], 16) == 0 for l in open('/proc/self/status') if l.startswith('Cap')))
    """)),
    Attempt("ptrace", "memory and registers of other processes", source="""
child = os.fork()
if child == 0: time.sleep(20); os._exit(0)
""", lines=lines("""
        check(libc.ptrace(16, 1, 0, 0))
        check(libc.ptrace(16, os.getppid(), 0, 0))
        check(libc.ptrace(16, child, 0, 0))
        check(libc.ptrace(0, 0, 0, 0))
        syscall(310, 1, b'0' * 16, 1, b'0' * 16, 1, 0)
        syscall(311, child, b'0' * 16, 1, b'0' * 16, 1, 0)
        syscall(438, os.pidfd_open(1), 1, 0)
        syscall(438, os.pidfd_open(child), 1, 0)
        syscall(312, os.getpid(), 1, 0, 0, 0)
        write('/proc/1/mem')
        os.kill(child, 9) or must(True)
    """)),
    Attempt("kill-others", "processes of the host, and the one that holds the sandbox", lines("""
        os.kill(T['pid'], 9)
        os.kill(T['pid'], 0)
    """)),
    Attempt("kill-all", "everything that it may send a signal to, its own init among it", source="""
os.kill(1, 15); os.kill(1, 9); os.kill(-1, 9)
""", ends=None, loose=True, beside_others=True),
    Attempt("seccomp-around", "calls by other numbers, which a filter could overlook", source="""
def by_int80():
    code = mmap.mmap(-1, 4096, prot=7)
    code.write(bytes.fromhex('b8170000 00cd80c3'.replace(' ', '')))  # the 32-bit setuid
    pid = os.fork()
    if pid == 0:
        ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))(); os._exit(0)
    must(os.WIFSIGNALED(os.waitpid(pid, 0)[1]))
""", lines=lines("""
        in_child(lambda: syscall(0x40000000 | 101, 16, 1, 0, 0))
        in_child(lambda: syscall(0x40000000 | 165, b'none', b'/tmp', b'tmpfs', 0, None))
        by_int80() if os.uname().machine == 'x86_64' else must(True)
        in_child(lambda: syscall(317, 1, 0, b'0' * 16))
        must([l for l in open('/proc/self/status') if l.startswith('Seccomp:')][0].split()[1] == '2')
    """)),
    Attempt("kernel-doors", "calls that have opened kernels before", lines("""
        syscall(321, 0, b'0' * 100, 100)
        syscall(298, b'0' * 112, 0, -1, -1, 0)
        syscall(323, 0)
        syscall(425, 8, b'0' * 120)
        syscall(246, 0, 0, 0, 0)
        syscall(320, -1, -1, 0, b'', 0)
        syscall(175, b'', 0, b'')
        syscall(313, -1, b'', 0)
        syscall(172, 3)
        syscall(173, 0, 8, 1)
        syscall(304, -100, b'0' * 20, 0)
        syscall(179, 0, None, 0, None)
        socket.socket(38, socket.SOCK_SEQPACKET)
        socket.socket(40, socket.SOCK_STREAM)
        socket.socket(17, socket.SOCK_RAW)
        socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
    """)),
    Attempt("machine", "the machine's clock, name, swap and power", lines("""
        check(libc.settimeofday(b'0' * 16, None))
        time.clock_settime(time.CLOCK_REALTIME, 0)
        socket.sethostname('x')
        check(libc.swapoff(b'/x'))
        check(libc.reboot(0x01234567))
        syscall(163, b'/workspace/acct')
        os.nice(-5)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    """)),
    Attempt("kernel-settings", "settings below /proc and /sys that act on the whole machine", lines("""
        write('/proc/sys/kernel/core_pattern')
        write('/proc/sys/kernel/modprobe')
        write('/proc/sys/vm/drop_caches')
        write('/proc/sys/kernel/ns_last_pid')
        write('/proc/sys/net/ipv4/ip_forward')
        write('/proc/sysrq-trigger')
        write('/proc/irq/default_smp_affinity')
        write('/proc/bus/x')
        write('/sys/kernel/uevent_helper')
        write('/sys/power/state')
        write('/sys/fs/cgroup/memory.max')
        write('/sys/fs/cgroup/release_agent')
        write('/sys/fs/cgroup/cgroup.procs')
        write('/proc/1/oom_score_adj')
        put('/proc/self/oom_score_adj', '-1000')
    """)),
    Attempt("own-limits", "more than its limits", lines("""
        resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
        resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
        resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))
    """)),
    Attempt("terminal", "input for the terminal from which the runner was started", lines("""
        __import__('fcntl').ioctl(0, 0x5412, b'x')
        __import__('fcntl').ioctl(1, 0x541c, b'x')
        open('/dev/tty', 'w')
        __import__('fcntl').ioctl(os.open('/dev/ptmx', os.O_RDWR), 0x5412, b'x')
    """)),
)  # fmt: skip
