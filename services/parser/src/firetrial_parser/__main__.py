"""python -m firetrial_parser"""

from firetrial_parser.main import main

main()
