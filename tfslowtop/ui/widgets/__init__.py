"""Small widgets, one file each."""
