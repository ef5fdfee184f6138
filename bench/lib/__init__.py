"""What the benches of all layers share: experiments, placements, foreign load,
verdicts and tables. A bench adds what it compares and its targets."""
