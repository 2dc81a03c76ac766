"""The gate of a plan: no run starts whose proposal was judged low."""
