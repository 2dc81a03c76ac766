"""A run's command as a job of the cluster's scheduler: the runner's side, and what runs in the job."""
