"""What the user has set: decoding settings and named actions."""
