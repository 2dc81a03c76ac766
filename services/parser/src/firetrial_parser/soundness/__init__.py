"""The soundness gate: what a proposal is, how it is assessed, and how good an assessor is."""
