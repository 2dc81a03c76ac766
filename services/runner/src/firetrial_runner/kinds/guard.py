"""What a target file does to the interpreter around it that the pinned one did not.

In a task whose target code runs in one process with its grader, nothing outside that process can tell a
figure that was measured from one that was put there. What is looked for here are the ways to put it there:
replacing functions of other modules, looking through frames, leaving processes behind, ending early, reading
and writing files, values whose operators lie. It is a net and no wall: who hides what he does well enough
passes it. Tasks that score apart (`score_command`) do not rest on it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

_PYTHON = {".py", ".pyw"}
_MODULES = {
    "atexit": "acts when the program ends",
    "builtins": "reaches into builtins",
    "_thread": "leaves threads behind",
    "code": "makes code from text",
    "ctypes": "reaches into the interpreter's memory",
    "gc": "looks through the objects of others",
    "inspect": "looks through frames",
    "fileinput": "opens files",
    "importlib": "imports by names that are made up",
    "linecache": "opens files",
    "marshal": "makes code from text",
    "mmap": "opens files",
    "multiprocessing": "starts processes",
    "pickle": "makes code from text",
    "pkgutil": "imports by names that are made up",
    "pty": "starts processes",
    "runpy": "runs other programs",
    "signal": "sets handlers",
    "socket": "opens sockets",
    "sqlite3": "opens files",
    "subprocess": "starts processes",
    "tempfile": "opens files",
    "unittest": "replaces what is another module's",
    "zipimport": "imports by names that are made up",
    "__main__": "reaches into the grader",
}
_CALLS = {
    "__import__": "imports by names that are made up",
    "compile": "makes code from text",
    "eval": "makes code from text",
    "exec": "makes code from text",
    "open": "opens files",
    "setattr": "sets attributes by name",
    "delattr": "sets attributes by name",
    "globals": "reaches into namespaces",
    "vars": "reaches into namespaces",
    "breakpoint": "looks through frames",
    "exit": "ends the program",
    "quit": "ends the program",
}
_ATTRIBUTES = {
    "__builtins__": "reaches into builtins",
    "__code__": "replaces code",
    "__delattr__": "sets attributes by name",
    "__dict__": "reaches into namespaces",
    "__globals__": "reaches into namespaces",
    "__setattr__": "sets attributes by name",
    "__subclasses__": "looks through the objects of others",
    "f_back": "looks through frames",
    "f_globals": "looks through frames",
    "f_locals": "looks through frames",
    "tb_frame": "looks through frames",
    "read_bytes": "opens files",
    "read_text": "opens files",
    "write_bytes": "opens files",
    "write_text": "opens files",
}
_OF_MODULES = {
    "os": {
        "environ": "reads the environment", "getenv": "reads the environment",
        "putenv": "sets the environment", "_exit": "ends the program", "abort": "ends the program",
        "kill": "ends the program",
        "fork": "starts processes", "forkpty": "starts processes", "system": "starts processes",
        "popen": "starts processes", "posix_spawn": "starts processes", "execv": "starts processes",
        "execvp": "starts processes", "execve": "starts processes", "spawnv": "starts processes",
        "open": "opens files", "listdir": "looks for files", "scandir": "looks for files",
        "walk": "looks for files", "symlink": "links files", "link": "links files", "remove": "removes files",
        "unlink": "removes files", "rename": "moves files", "replace": "moves files",
    },
    "sys": {
        "_getframe": "looks through frames", "_current_frames": "looks through frames",
        "exit": "ends the program", "meta_path": "changes how modules are found",
        "modules": "replaces modules", "path": "changes where modules are found",
        "path_hooks": "changes how modules are found", "setprofile": "watches the grader",
        "settrace": "watches the grader",
    },
    "io": {"open": "opens files", "FileIO": "opens files", "open_code": "opens files"},
    "codecs": {"open": "opens files"},
    "types": {"CodeType": "makes code from text", "FunctionType": "makes code from text"},
    "weakref": {"finalize": "acts when the program ends"},
    "threading": {"Thread": "leaves threads behind", "Timer": "leaves threads behind"},
    "shutil": {"copy": "moves files", "copyfile": "moves files", "move": "moves files"},
    "glob": {"glob": "looks for files", "iglob": "looks for files"},
    "numpy": dict.fromkeys(
        ("load", "save", "savez", "loadtxt", "savetxt", "genfromtxt", "fromfile", "memmap"), "opens files"
    ),
    "pandas": dict.fromkeys(
        ("read_csv", "read_parquet", "read_json", "read_pickle", "read_table"), "opens files"
    ),
    "joblib": {"load": "opens files", "dump": "opens files"},
    "torch": {"load": "opens files", "save": "opens files"},
}  # fmt: skip
_OWN_WAY = "has values that compare or count in a way of their own"
_OPERATORS = frozenset(
    f"__{name}__"
    for name in (
        "abs", "add", "array", "array_function", "array_ufunc", "bool", "eq", "float", "format", "ge",
        "getattribute", "gt", "hash", "iadd", "index", "int", "le", "lt", "mul", "ne", "neg", "pow", "radd",
        "reduce", "reduce_ex", "rmul", "round", "rpow", "rsub", "rtruediv", "sub", "truediv",
    )
)  # fmt: skip
_SETTINGS = ("torch.backends.", "matplotlib.", "pandas.options.")
"""Where modules are told settings by assignment."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a target file newly does, one line each with the first line of it; or why that cannot be told.

    What cannot be told is a mistake as a rule, and no finding; but it is not let near a grader.
    """

    findings: tuple[str, ...] = ()
    unread: str = ""


def look(path: str, text: str, pinned: str, results_file: str) -> Seen:
    """Into a target file; of Python alone, and of what cannot be read where the pinned file can be."""
    if PurePosixPath(path).suffix not in _PYTHON:
        return Seen()
    acts, why = _acts(text, results_file)
    if not acts and not why:
        return Seen()
    before, unread = _acts(pinned, results_file)
    if why:
        return Seen() if unread else Seen(unread=f"{path} cannot be read as Python: {why}")
    left = Counter(what for what, _ in before)
    found: dict[str, int] = {}
    for what, line in acts:
        left[what] -= 1
        if left[what] < 0:
            found.setdefault(what, line)
    return Seen(
        tuple(f"{path}:{line} {what}, which the pinned file does not" for what, line in found.items())
    )


def _acts(text: str, results_file: str) -> tuple[list[tuple[str, int]], str]:
    """(acts with their lines, why they cannot be told).

    Parsed as bytes, as an interpreter does: a text may name the code that it is to be decoded by.
    """
    try:
        tree = ast.parse(text.encode())
        return list(_Acts(tree, PurePosixPath(results_file).name).all()), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [], str(error)[:200] or type(error).__name__


class _Acts:
    """What a module does, by what its names were imported as."""

    def __init__(self, tree: ast.Module, results: str) -> None:
        self._tree, self._results = tree, results
        self._modules: dict[str, str] = {}

    def all(self) -> Iterator[tuple[str, int]]:
        nodes = [node for node in ast.walk(self._tree) if isinstance(node, ast.expr | ast.stmt)]
        for node in nodes:
            for what in self._imported(node):
                yield what, node.lineno
        for node in nodes:
            self._named_anew(node)
        for node in nodes:
            for what in self._done(node):
                yield what, node.lineno

    def _imported(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                self._modules[alias.asname or top] = alias.name if alias.asname else top
                yield from _known(_MODULES, top)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from _known(_MODULES, module.partition(".")[0])
            for alias in node.names:
                self._modules[alias.asname or alias.name] = f"{module}.{alias.name}"
                yield from _known(_OF_MODULES.get(module, {}), alias.name)

    def _named_anew(self, node: ast.AST) -> None:
        """`m = numpy` is another name of it."""
        if isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if name := self._dotted(node.value):
                for target in targets:
                    if isinstance(target, ast.Name):
                        self._modules.setdefault(target.id, name)

    def _done(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from _known(_CALLS, node.func.id)
            if node.func.id == "type" and len(node.args) == 3:
                yield "makes code from text"
        elif isinstance(node, ast.Attribute):
            yield from self._replaced(node)
            yield from _known(_ATTRIBUTES, node.attr)
            name = self._dotted(node.value)
            yield from _known(_OF_MODULES.get(name, {}), node.attr)
        elif isinstance(node, ast.Name) and node.id == "__builtins__":
            yield "reaches into builtins"
        elif _names_an_operator(node):
            yield _OWN_WAY
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if self._results in node.value:
                yield "names the file of results"
            if node.value in _OPERATORS:
                yield _OWN_WAY

    def _replaced(self, node: ast.Attribute) -> Iterator[str]:
        """However it is bound: by an assignment, a loop, a `with`."""
        if not isinstance(node.ctx, ast.Load):
            name = self._dotted(node)
            if node.attr == "__class__" or (name and not name.startswith(_SETTINGS)):
                yield "replaces what is another module's"

    def _dotted(self, node: ast.AST) -> str:
        """The full name that an expression has of what was imported; "" for anything else."""
        if isinstance(node, ast.Name):
            return self._modules.get(node.id, "")
        if isinstance(node, ast.Attribute):
            base = self._dotted(node.value)
            return f"{base}.{node.attr}" if base else ""
        return ""


def _names_an_operator(node: ast.AST) -> bool:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return node.id in _OPERATORS
    if isinstance(node, ast.Import | ast.ImportFrom):
        return any(alias.asname in _OPERATORS for alias in node.names)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in _OPERATORS


def _known(table: dict[str, str], name: str) -> Iterator[str]:
    if name in table:
        yield table[name]
