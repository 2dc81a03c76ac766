from firetrial_analyzer.snapshots import MAX_CHARACTERS, MAX_FILES, Workspace
from firetrial_analyzer.taxonomy.actions import Action, Kind


def edit(path: str, text: str) -> Action:
    return Action(Kind.EDIT, 1, text, path)


def run(text: str) -> Action:
    return Action(Kind.RUN, 1, text)


def code(*actions: Action) -> str:
    workspace = Workspace()
    for action in actions:
        workspace.see(action)
    return workspace.code


def test_whole_files_in_the_order_of_their_paths() -> None:
    assert code(edit("b.py", "b = 1"), edit("a.py", "a = 1"), edit("b.py", "b = 2")) == (
        "# a.py\na = 1\n# b.py\nb = 2"
    )


def test_a_diff_replaces_what_it_shows() -> None:
    first = edit("a.py", "+x = 1\n+y = 2\n+z = 3")
    second = edit("a.py", "@@ -1,3 +1,3 @@\n x = 1\n-y = 2\n+y = 20\n+w = 4\n z = 3")
    assert code(first, second) == "# a.py\nx = 1\ny = 20\nw = 4\nz = 3"
    assert code(first, edit("a.py", "-y = 2\n+y = 5")) == "# a.py\nx = 1\ny = 5\nz = 3"
    assert code(first, edit("a.py", "-x = 1\n+x = 7\n-z = 3\n+z = 9")) == "# a.py\nx = 7\ny = 2\nz = 9"


def test_a_diff_of_what_is_not_known_is_added() -> None:
    assert code(edit("a.py", "-old = 1\n+new = 2")) == "# a.py\n\nnew = 2"


def test_here_documents_and_patches() -> None:
    assert code(run("mkdir -p src && cat > src/a.py <<'EOF'\nx = 1\nEOF\npython src/a.py")) == (
        "# src/a.py\nx = 1"
    )
    files = "*** Add File: a.py\n+x = 1\n*** Update File: b.py\n-y\n+z\n"
    patch = f"apply_patch <<'E'\n*** Begin Patch\n{files}*** End Patch\nE"
    assert code(edit("b.py", "y"), run(patch)) == "# a.py\nx = 1\n# b.py\nz"


def test_what_is_no_edit_of_code() -> None:
    workspace = Workspace()
    assert not workspace.see(run("python a.py"))
    assert not workspace.see(edit("notes.md", "text"))
    assert workspace.see(edit("a.py", "x"))


def test_files_and_characters_are_bounded() -> None:
    workspace = Workspace()
    for n in range(MAX_FILES + 5):
        workspace.see(edit(f"{n}.py", "x"))
    workspace.see(edit("0.py", "y" * (MAX_CHARACTERS + 5)))
    assert len(workspace.code) < MAX_CHARACTERS + 20 * MAX_FILES
