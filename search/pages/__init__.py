"""The pages that readers see."""
