"""Raw formats: one module a format, one registry, one value object (`image.RawImage`) whatever the format."""
