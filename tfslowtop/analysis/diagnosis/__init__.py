"""From what was recorded to what is wrong: facts, one rule per cause, and findings in order of their cost."""
