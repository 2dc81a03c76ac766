"""Runs inside the sandbox, beside an attempt: tries things, and concludes how many were refused."""
# ruff: noqa: F401, PTH123, SIM115, PLW0603, BLE001, S310, S606 -- written as an attacker writes
# mypy: ignore-errors

import ctypes
import glob
import json
import mmap
import os
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

T = json.load(open("/agent/targets.json"))
libc = ctypes.CDLL(None, use_errno=True)
held = 0


def check(result):
    """What a C function gives, or its error."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def syscall(number, *arguments):
    return check(libc.syscall(ctypes.c_long(number), *arguments))


def refused(tried):
    """Counts an attempt that fails, and tells of one that does not."""
    global held
    try:
        got = tried()
    except (Exception, SystemExit) as error:
        held += 1
        print("refused:", type(error).__name__, str(error)[:200], flush=True)
    else:
        print(f"GOT IN: {got!r}"[:500], flush=True)


def must(condition, told=""):
    """A refusal that is no exception."""
    if condition:
        raise PermissionError(f"nothing there {told}")
    return "it is there", told


def in_child(tried):
    """Tried by a child, which may be killed for it: "refused" where it is, or where it fails."""
    child = os.fork()
    if child == 0:
        try:
            tried()
        except BaseException:
            os._exit(1)
        os._exit(0)
    must(os.waitpid(child, 0)[1] != 0)
    return "a child got in"


def told(name):
    """How many lines of one attempt were refused, and none of the next."""
    global held
    print(f"{name}: held {held}", flush=True)
    held = 0


def conclude():
    if not os.path.lexists("conclusion.md"):
        with open("conclusion.md", "w") as file:
            file.write(f"held {held}")


def read(path):
    with open(path, "rb") as file:
        return file.read(4096)


def write(path):
    with open(path, "wb") as file:
        file.write(b"x")


def put(path, text):
    """Written at once, without a buffer that fails later."""
    handle = os.open(path, os.O_WRONLY)
    try:
        return os.write(handle, text.encode())
    finally:
        os.close(handle)


def connect(host, port, family=socket.AF_INET, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as s:
        s.settimeout(3)
        s.connect((host, port))
        return s.getpeername()


def datagram(host, port, family=socket.AF_INET):
    """Sent, and answered."""
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.sendto(b"\0" * 24, (host, port))
        return s.recv(1)


def ask(content, token=None, **more):
    """A model, as agents do; gives what it says, also of errors."""
    body = json.dumps({"model": "small", "messages": [{"role": "user", "content": content}], **more})
    headers = {"authorization": "Bearer " + (token or os.environ["OPENAI_API_KEY"])}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", body.encode(), headers
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return str(answer.headers) + answer.read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.headers} {error.read().decode()}"


def spoken(port, said, wait=5):
    """What is answered on the loopback to bytes as they are."""
    with socket.create_connection(("127.0.0.1", port), wait) as s:
        s.sendall(said.encode() if isinstance(said, str) else said)
        s.settimeout(wait)
        found = b""
        try:
            while len(found) < 65536 and (more := s.recv(65536)):
                found += more
        except TimeoutError:
            pass
        return found.decode(errors="replace")


def ok(answer):
    """Refused where an answer is not 2xx."""
    if not re.match(r"HTTP/1\.. 2", answer):
        raise PermissionError(answer[:120])
    return answer


def proxied(line, host="x", body=""):
    return ok(spoken(8463, f"{line} HTTP/1.1\r\nhost: {host}\r\n\r\n{body}"))


def lasting():
    """A process that has left its session and parent, whose command line can be found."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 3)
            os.execvp("sleep", ["sleep", T["mark"]])
        os._exit(0)
    os.wait()
