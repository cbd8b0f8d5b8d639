"""Slides as pictures, drawn with Pillow: `slide` is read first. Runs in the child process."""
