"""The Textual app. `scenario_app.py` and `script_app.py` stand side by side on `base.py`, which watches a
run, which in turn stands on `terminal_app.py`, which behaves in a terminal.

`screens/` holds what fills the terminal, `widgets/` what screens are made of, `app.tcss` all layout and
colour. Nothing here measures or judges: screens draw the `View` that a run's thread sends them. Only
`commands` imports this package, and late, because Textual takes about 270 ms to import.
"""
