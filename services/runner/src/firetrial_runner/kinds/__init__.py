"""What runs of a task's kind have beside instruction and data: docs/repository-tasks.md, docs/adr/0009."""
