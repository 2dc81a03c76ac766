"""What a sandbox may reach of the network: by policy, through one point, and every contact written down."""
