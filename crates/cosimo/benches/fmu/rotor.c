/* The smallest FMI 2.0 unit for co-simulation that is worth coupling: two inputs, two outputs, and a step that
 * turns the input pair by a milliradian. A few nanoseconds per call, so that what is left is the coordinator.
 * Compiled with COUNT it keeps a tally of the calls after its initialisation, in the file COSIMO_ROTOR_CALLS. */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { IN_A, IN_B, OUT_A, OUT_B, START_A, START_B, VARIABLES };

typedef struct {
    double value[VARIABLES];
#ifdef COUNT
    int number, running;
#endif
} Rotor;

#ifdef COUNT
enum { SET, STEP, GET, KINDS };

static unsigned long counts[KINDS], order = 14695981039346656037ul;
static int made, alive;

/* The order of the calls goes into a sum, FNV-1a. */
static void called(Rotor *rotor, int kind)
{
    if (rotor->running) {
        counts[kind]++;
        order = (order ^ (unsigned long)(rotor->number * KINDS + kind)) * 1099511628211ul;
    }
}

static void write_tally(void)
{
    FILE *file = fopen(getenv("COSIMO_ROTOR_CALLS"), "w");
    fprintf(file, "%lu set, %lu step, %lu get, order %016lx", counts[SET], counts[STEP], counts[GET], order);
    fclose(file);
}
#define CALLED(rotor, kind) called(rotor, kind)
#else
#define CALLED(rotor, kind)
#endif

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const void *callbacks,
                      int visible, int logging)
{
    (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
    Rotor *rotor = calloc(1, sizeof *rotor);
    rotor->value[START_A] = 1;
#ifdef COUNT
    rotor->number = made++;
    alive++;
#endif
    return rotor;
}

void fmi2FreeInstance(void *instance)
{
    free(instance);
#ifdef COUNT
    if (--alive == 0)
        write_tally();
#endif
}

int fmi2SetupExperiment(void *instance, int has_tolerance, double tolerance, double start, int has_stop, double stop)
{
    (void)instance, (void)has_tolerance, (void)tolerance, (void)start, (void)has_stop, (void)stop;
    return 0;
}

int fmi2EnterInitializationMode(void *instance)
{
    Rotor *rotor = instance;
    rotor->value[OUT_A] = rotor->value[START_A];
    rotor->value[OUT_B] = rotor->value[START_B];
    return 0;
}

/* Some coordinators set parameters only in between. */

int fmi2ExitInitializationMode(void *instance)
{
#ifdef COUNT
    ((Rotor *)instance)->running = 1;
#endif
    return fmi2EnterInitializationMode(instance);
}

int fmi2Terminate(void *instance)
{
    (void)instance;
    return 0;
}

int fmi2SetReal(void *instance, const unsigned *references, size_t count, const double *values)
{
    Rotor *rotor = instance;
    CALLED(rotor, SET);
    for (size_t k = 0; k < count; k++)
        rotor->value[references[k]] = values[k];
    return 0;
}

int fmi2GetReal(void *instance, const unsigned *references, size_t count, double *values)
{
    Rotor *rotor = instance;
    CALLED(rotor, GET);
    for (size_t k = 0; k < count; k++)
        values[k] = rotor->value[references[k]];
    return 0;
}

int fmi2DoStep(void *instance, double from, double size, int never_back)
{
    (void)from, (void)size, (void)never_back;
    const double cosine = 0.9999995000000416666652777778, sine = 0.000999999833333341666666468254;
    Rotor *rotor = instance;
    CALLED(rotor, STEP);
    double a = rotor->value[IN_A], b = rotor->value[IN_B];
    rotor->value[OUT_A] = cosine * a - sine * b;
    rotor->value[OUT_B] = sine * a + cosine * b;
    return 0;
}

/* What the standard demands of every unit and this benchmark never calls; some coordinators look for them. */
const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
int fmi2SetDebugLogging(void *i, int on, size_t n, const char *const *c) { (void)i, (void)on, (void)n, (void)c; return 0; }
int fmi2Reset(void *i) { (void)i; return 3; }
int fmi2GetInteger(void *i, const unsigned *r, size_t n, int *v) { (void)i, (void)r, (void)v; return n ? 3 : 0; }
int fmi2GetBoolean(void *i, const unsigned *r, size_t n, int *v) { (void)i, (void)r, (void)v; return n ? 3 : 0; }
int fmi2GetString(void *i, const unsigned *r, size_t n, const char **v) { (void)i, (void)r, (void)v; return n ? 3 : 0; }
int fmi2SetInteger(void *i, const unsigned *r, size_t n, const int *v) { (void)i, (void)r, (void)v; return n ? 3 : 0; }
int fmi2SetBoolean(void *i, const unsigned *r, size_t n, const int *v) { (void)i, (void)r, (void)v; return n ? 3 : 0; }
int fmi2SetString(void *i, const unsigned *r, size_t n, const char *const *v) { (void)i, (void)r, (void)v; return n ? 3 : 0; }
int fmi2GetFMUstate(void *i, void **s) { (void)i, (void)s; return 3; }
int fmi2SetFMUstate(void *i, void *s) { (void)i, (void)s; return 3; }
int fmi2FreeFMUstate(void *i, void **s) { (void)i, (void)s; return 3; }
int fmi2SerializedFMUstateSize(void *i, void *s, size_t *n) { (void)i, (void)s, (void)n; return 3; }
int fmi2SerializeFMUstate(void *i, void *s, char *b, size_t n) { (void)i, (void)s, (void)b, (void)n; return 3; }
int fmi2DeSerializeFMUstate(void *i, const char *b, size_t n, void **s) { (void)i, (void)b, (void)n, (void)s; return 3; }
int fmi2GetDirectionalDerivative(void *i, const unsigned *z, size_t nz, const unsigned *v, size_t nv, const double *dv, double *dz)
{
    (void)i, (void)z, (void)nz, (void)v, (void)nv, (void)dv, (void)dz;
    return 3;
}
int fmi2SetRealInputDerivatives(void *i, const unsigned *r, size_t n, const int *o, const double *v) { (void)i, (void)r, (void)n, (void)o, (void)v; return 3; }
int fmi2GetRealOutputDerivatives(void *i, const unsigned *r, size_t n, const int *o, double *v) { (void)i, (void)r, (void)n, (void)o, (void)v; return 3; }
int fmi2CancelStep(void *i) { (void)i; return 3; }
int fmi2GetStatus(void *i, int k, int *v) { (void)i, (void)k, (void)v; return 3; }
int fmi2GetRealStatus(void *i, int k, double *v) { (void)i, (void)k, (void)v; return 3; }
int fmi2GetIntegerStatus(void *i, int k, int *v) { (void)i, (void)k, (void)v; return 3; }
int fmi2GetBooleanStatus(void *i, int k, int *v) { (void)i, (void)k, (void)v; return 3; }
int fmi2GetStringStatus(void *i, int k, const char **v) { (void)i, (void)k, (void)v; return 3; }
