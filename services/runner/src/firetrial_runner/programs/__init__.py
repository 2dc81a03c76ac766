"""Agent programs behind one port: how each is installed, what it needs, and how its stream becomes steps.

How a program is started and told its question is the agent's part: a command and the files in its bundle.
"""

from firetrial_runner.programs.known import KNOWN, faults, known
from firetrial_runner.programs.program import Package, Program
from firetrial_runner.programs.reading import Reading, reading
from firetrial_runner.programs.shelf import Shelf

__all__ = ["KNOWN", "Package", "Program", "Reading", "Shelf", "faults", "known", "reading"]
