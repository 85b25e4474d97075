"""Changes to the user's source that a finding proposes."""
