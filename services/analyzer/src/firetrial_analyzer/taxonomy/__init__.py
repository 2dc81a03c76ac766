"""Why a run failed: the taxonomy as data, and the signals that settle a type of error without a model."""
