"""Settings: the core's presets."""
