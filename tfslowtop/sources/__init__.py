"""Things to watch. Each is a `Source`: events out, commands in."""
