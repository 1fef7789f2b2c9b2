"""The command line: everything meets here, and nothing imports it."""
