"""The pages of answers: asking, the stream, single answers, feedback, threads."""
