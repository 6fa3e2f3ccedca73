"""What code costs: scores without running it, measurements on the machine at hand, and the least that an allocation can cost."""
