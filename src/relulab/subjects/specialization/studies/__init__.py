"""Studies of figures and statements of LM, SS and S0, one file or folder each."""
