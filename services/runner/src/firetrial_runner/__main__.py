"""`python -m firetrial_runner`."""

from firetrial_runner.main import main

main()
