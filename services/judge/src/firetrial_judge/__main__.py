"""`python -m firetrial_judge`."""

from firetrial_judge.main import main

main()
