"""Speed, memory and cost of this pipeline and of the systems people would pick instead, measured side by side."""
