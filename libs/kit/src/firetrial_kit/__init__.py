"""What every Firetrial service needs and what knows no word of the job: bus, state, objects, RPC, logs."""
