"""Whether what a conclusion says was really done and found: its numbers, and the work that it claims."""
