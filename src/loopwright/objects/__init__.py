"""Object files: compiled functions and globals as relocatable ELF files, with what linkers and debuggers need to know of them."""
