"""The search for better orders of the register filters: orders, their scores over many functions, the searches, and a report."""
