"""Whether what a conclusion says was really done and found: its numbers, the work it claims, what it kept off."""
