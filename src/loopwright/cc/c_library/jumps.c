/* Leaving functions at once. What a function is in the middle of is in its frame while it calls another: the stack's two pointers and the address to go on at are all that there is
   to keep (`jumps.py`). */

#include "library.h"

struct place { uint64_t address, stack, dynamic; };
void __longjmp(struct place *to, int value);

void longjmp(struct place *to, int value) { __longjmp(to, value ? value : 1); }
void _longjmp(struct place *to, int value) { longjmp(to, value); }
void siglongjmp(struct place *to, int value) { longjmp(to, value); }
