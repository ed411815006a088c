/* The loop that anyone would write for this one system: N instances in a ring, one call per type and unit, and
 * the copying in between. `bare LIBRARY N`; a line with a number takes so many steps and is answered with their
 * seconds, the line `values` with the bits of all outputs. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const unsigned inputs[2] = {0, 1}, outputs[2] = {2, 3}, starts[2] = {4, 5};
static const double size = 1e-3;

static void *find(void *library, const char *name)
{
    void *function = dlsym(library, name);
    if (!function) {
        fprintf(stderr, "the unit has no %s\n", name);
        exit(3);
    }
    return function;
}

static void must(int status, const char *what)
{
    if (status > 1) {
        fprintf(stderr, "%s returned %d\n", what, status);
        exit(1);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    size_t units = strtoul(arguments[2], NULL, 10);
    void *(*instantiate)(const char *, int, const char *, const char *, const void *, int, int) =
        find(library, "fmi2Instantiate");
    int (*setup)(void *, int, double, double, int, double) = find(library, "fmi2SetupExperiment");
    int (*enter)(void *) = find(library, "fmi2EnterInitializationMode");
    int (*leave)(void *) = find(library, "fmi2ExitInitializationMode");
    int (*set)(void *, const unsigned *, size_t, const double *) = find(library, "fmi2SetReal");
    int (*get)(void *, const unsigned *, size_t, double *) = find(library, "fmi2GetReal");
    int (*step)(void *, double, double, int) = find(library, "fmi2DoStep");
    int (*terminate)(void *) = find(library, "fmi2Terminate");
    void (*release)(void *) = find(library, "fmi2FreeInstance");

    void **unit = calloc(units, sizeof *unit);
    double(*in)[2] = calloc(units, sizeof *in), (*out)[2] = calloc(units, sizeof *out);
    void *callbacks[5] = {NULL};
    for (size_t k = 0; k < units; k++) {
        unit[k] = instantiate("rotor", 1, "{rotor}", "", callbacks, 0, 0);
        double start[2] = {1.0 + (double)k / 64, 0.5};
        must(set(unit[k], starts, 2, start), "fmi2SetReal");
        must(setup(unit[k], 0, 0, 0, 0, 0), "fmi2SetupExperiment");
        must(enter(unit[k]), "fmi2EnterInitializationMode");
        must(get(unit[k], outputs, 2, out[k]), "fmi2GetReal");
        must(leave(unit[k]), "fmi2ExitInitializationMode");
    }

    char line[64];
    uint64_t done = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "values\n") == 0) {
            for (size_t k = 0; k < 2 * units; k++) {
                uint64_t bits;
                memcpy(&bits, &out[0][k], sizeof bits);
                printf(k ? " %016lx" : "%016lx", bits);
            }
            printf("\n");
        } else {
            uint64_t steps = strtoull(line, NULL, 10);
            double begun = seconds();
            for (uint64_t end = done + steps; done < end; done++) {
                for (size_t k = 0; k < units; k++)
                    memcpy(in[k], out[k ? k - 1 : units - 1], sizeof *in);
                double time = (double)done * size;
                for (size_t k = 0; k < units; k++) {
                    must(set(unit[k], inputs, 2, in[k]), "fmi2SetReal");
                    must(step(unit[k], time, size, 1), "fmi2DoStep");
                    must(get(unit[k], outputs, 2, out[k]), "fmi2GetReal");
                }
            }
            printf("%.17g\n", seconds() - begun);
        }
        fflush(stdout);
    }
    for (size_t k = 0; k < units; k++) {
        must(terminate(unit[k]), "fmi2Terminate");
        release(unit[k]);
    }
    return 0;
}
