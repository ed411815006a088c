/* The logger of FMI 1.0 is variadic: format here, hand plain text on. */

#include <stdarg.h>
#include <stdio.h>

/* In fmi1/logger.rs. */
void cosimo_fmi1_say(void *component, const char *instance, int status, const char *category, const char *text);

void cosimo_fmi1_logger(void *component, const char *instance, int status, const char *category,
                        const char *message, ...)
{
    char text[2048];
    va_list arguments;

    if (message == NULL)
        return;
    va_start(arguments, message);
    /* Longer messages are cut; a broken format gives a negative number and leaves nothing to show. */
    if (vsnprintf(text, sizeof text, message, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    cosimo_fmi1_say(component, instance, status, category, text);
}
