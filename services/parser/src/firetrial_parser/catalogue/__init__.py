"""The core tasks of FIRE-Bench in this project's own words, from the published facts."""
