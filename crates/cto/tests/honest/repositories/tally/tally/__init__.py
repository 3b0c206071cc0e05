"""Adds up amounts in a CSV file."""
