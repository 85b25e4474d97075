"""Curves, charts, histograms, and the panel that frames a curve with its numbers; for any quantity."""
