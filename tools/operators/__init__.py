"""Writes the typed functions of operators from their records: see tools/generate_operators.py."""
