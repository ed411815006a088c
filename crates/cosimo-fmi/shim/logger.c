/* The logger of FMI 2.0 is variadic: format here, hand plain text on. Without it people read "%s".
 * The environment that a unit hands back is a `struct sink`, the first field of what Rust keeps per instance. */

#include <stdarg.h>
#include <stdio.h>

/* As in log.rs. */
#define COSIMO_SINK_MARK 0x6b6e69736f6d6973ULL

struct sink {
    unsigned long long mark;
    void (*write)(void *data, int status, const char *category, const char *text);
    void *data;
};

void cosimo_fmi2_logger(void *environment, const char *instance, int status, const char *category,
                        const char *message, ...)
{
    char text[2048];
    struct sink *sink = environment;
    va_list arguments;

    (void)instance;
    /* Some units hand back something else, such as themselves, as FMI 1.0 had it: better no message than a crash.
     * A unit is larger than a mark. */
    if (sink == NULL || sink->mark != COSIMO_SINK_MARK || message == NULL)
        return;
    va_start(arguments, message);
    /* Longer messages are cut; a broken format gives a negative number and leaves nothing to show. */
    if (vsnprintf(text, sizeof text, message, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    sink->write(sink->data, status, category, text);
}
