/* The logger of FMI 2.0 is variadic: format here, hand plain text on. Without it people read "%s". */

#include <stdarg.h>
#include <stdio.h>

/* Set by Rust before the first instance. `find` answers NULL where no living instance is meant; then nothing that came
 * with the call is looked at, because an FMU that was freed may have freed it. */
static void *(*find)(void *environment, const char *instance);
static void (*write_line)(void *found, int status, const char *category, const char *text);

void cosimo_fmi2_hand_on(void *(*finder)(void *, const char *), void (*writer)(void *, int, const char *, const char *))
{
    find = finder;
    write_line = writer;
}

void cosimo_fmi2_logger(void *environment, const char *instance, int status, const char *category,
                        const char *message, ...)
{
    char text[2048];
    va_list arguments;
    void *found;

    if (message == NULL || find == NULL || write_line == NULL || (found = find(environment, instance)) == NULL)
        return;
    va_start(arguments, message);
    /* Longer messages are cut; a broken format gives a negative number and leaves nothing to show. */
    if (vsnprintf(text, sizeof text, message, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    write_line(found, status, category, text);
}
