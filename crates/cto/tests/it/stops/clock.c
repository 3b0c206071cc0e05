/* The wall clock as somebody sets it: CLOCK_SHIFT seconds off, and after CLOCK_AFTER readings CLOCK_JUMP seconds more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t which, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    static long readings;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(which, time);
    if (result == 0 && which == CLOCK_REALTIME) {
        time->tv_sec += number("CLOCK_SHIFT");
        if (++readings > number("CLOCK_AFTER"))
            time->tv_sec += number("CLOCK_JUMP");
    }
    return result;
}
