"""What loopwright is measured against: the same kernels, compiled by others."""
