"""What the benches of all layers share: rounds, placements, foreign load,
statistics, verdicts and tables. A bench adds its peers and its cells."""
