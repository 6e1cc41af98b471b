"""The subjects, one package each. Every folder in here is found by the laboratory's index."""
