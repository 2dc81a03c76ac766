"""What is looked at in runs of each kind of task: docs/adr/0009."""
