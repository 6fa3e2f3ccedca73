"""Elementary functions: written once, over the operations of kernels, for every type and target."""
