"""Mutation runs: do the tests notice a fault? ``python -m tests.mutation --help``, or ``make mutants``.

Small faults are put into the core of the library, one at a time, and the tests are run until one fails. A fault that no test notices
shows what the tests do not look at. The faults are cosmic-ray's (its operators and its parser); which of them, in what order the tests run,
and what counts is decided here, because the suite is too long to be run as a whole for each fault:

``faults``     where a fault can be put, and a seeded sample
``recording``  which functions each test enters, and how long it takes
``judge``      a copy of the checkout for each process; the tests that enter the fault's function first
``judgements`` survivors that somebody has looked at: those that change nothing, with the reason
"""
