"""The user's configuration: settings for decoding, and named actions."""
