"""`python -m firetrial_client` is `firetrial`."""

from firetrial_client.cli.main import main

main()
