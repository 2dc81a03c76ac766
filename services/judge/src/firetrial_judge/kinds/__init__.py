"""How runs of each kind of task become judgements: docs/adr/0009."""
