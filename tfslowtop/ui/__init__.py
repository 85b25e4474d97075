"""The Textual app. Two apps share the base in `base.py`: one for scenarios, one for a user's script.

`screens/` holds what fills the terminal, `widgets/` what screens are made of, `app.tcss` all layout and
colour. Nothing here measures or judges: screens draw the `View` that a run's thread sends them. Only
`commands` imports this package, and late, because Textual takes about 270 ms to import.
"""
