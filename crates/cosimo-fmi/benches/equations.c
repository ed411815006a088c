/* A bare loop over the three calls that one right-hand side of an FMU for model exchange takes: FMI 2.0, without inputs.
   `equations LIBRARY RESOURCES GUID COUNT` prints nanoseconds per right-hand side, the least of ten rounds. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    void (*log)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;

static void say(void *e, const char *n, int s, const char *c, const char *m, ...) {
    (void)e, (void)n, (void)s, (void)c, (void)m;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

#define CALL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(library, "fmi2" name))

int main(int count, char **words) {
    if (count != 5) return 2;
    void *library = dlopen(words[1], RTLD_NOW);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    Callbacks callbacks = {say, calloc, free, NULL, NULL};
    void *component = CALL(void *, "Instantiate", const char *, int, const char *, const char *, const Callbacks *, int, int)(
        "bare", 0, words[3], words[2], &callbacks, 0, 0);
    if (!component) return fprintf(stderr, "the FMU refuses to be instantiated\n"), 1;
    int info[16] = {0};
    int wrong = CALL(int, "SetupExperiment", void *, int, double, double, int, double)(component, 0, 0.0, 0.0, 0, 0.0);
    wrong |= CALL(int, "EnterInitializationMode", void *)(component);
    wrong |= CALL(int, "ExitInitializationMode", void *)(component);
    wrong |= CALL(int, "NewDiscreteStates", void *, void *)(component, info);
    wrong |= CALL(int, "EnterContinuousTimeMode", void *)(component);
    int (*time_is)(void *, double) = CALL(int, "SetTime", void *, double);
    int (*states_are)(void *, const double *, size_t) = CALL(int, "SetContinuousStates", void *, const double *, size_t);
    int (*slopes)(void *, double *, size_t) = CALL(int, "GetDerivatives", void *, double *, size_t);
    double x[2] = {2.0, 0.0}, dx[2], least = 1e99;
    long calls = atol(words[4]);
    for (int round = 0; round < 10; round++) {
        double begun = now();
        for (long k = 0; k < calls; k++) {
            wrong |= time_is(component, 1e-9 * (double)k);
            x[0] = 2.0 - 1e-9 * (double)k;
            wrong |= states_are(component, x, 2);
            wrong |= slopes(component, dx, 2);
        }
        double each = (now() - begun) / (double)calls;
        if (each < least) least = each;
    }
    if (wrong) return fprintf(stderr, "a call failed\n"), 1;
    printf("%f\n", least);
    return 0;
}
