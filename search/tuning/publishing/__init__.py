"""W: a draft profile becomes the active one, through the gate, and back."""
