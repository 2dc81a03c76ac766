"""`firetrial webhooks`: facts by HTTP for those who do not speak NATS, signed, retried, dead-lettered."""
