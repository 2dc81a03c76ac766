"""What tasks of a kind hold beside question and instruction: docs/repository-tasks.md, docs/adr/0009."""
