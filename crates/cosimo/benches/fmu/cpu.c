/* Runs a command and writes the CPU seconds it took, user and system, to standard error. */

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    if (count < 2)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        execv(arguments[1], arguments + 1);
        _exit(127);
    }
    int status = 1;
    struct rusage use;
    if (child < 0 || wait4(child, &status, 0, &use) < 0 || status != 0)
        return 1;
    double seconds = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec);
    fprintf(stderr, "%.6f\n", seconds + 1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec));
    return 0;
}
