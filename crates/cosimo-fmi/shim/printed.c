/* What FMUs print by C's stdout, line by line: its FILE is not to be had from Rust on every system. */

#include <stdio.h>

void cosimo_fmi_print_by_lines(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}
