/* Makes the Nth write or flush below a folder fail with EIO, and every later one too if EIO_STAYS is set. With EIO_AT=0 it only
 * counts, into the file EIO_COUNT. Loaded before libc by a test; nothing of it is shipped. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long passed;

static int below(int fd) {
    const char *folder = getenv("EIO_BELOW");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!folder || length < 0) return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int fails(int fd) {
    if (!below(fd)) return 0;
    long now = __sync_add_and_fetch(&passed, 1);
    const char *at = getenv("EIO_AT");
    long wanted = at ? atol(at) : 0;
    return wanted > 0 && (now == wanted || (now > wanted && getenv("EIO_STAYS")));
}

__attribute__((destructor)) static void count(void) {
    const char *file = getenv("EIO_COUNT");
    if (!file) return;
    FILE *out = fopen(file, "w");
    if (!out) return;
    fprintf(out, "%ld\n", passed);
    fclose(out);
}

#define INTERCEPT(type, name, parameters, arguments)                                                                   \
    type name parameters {                                                                                             \
        static type(*real) parameters;                                                                                 \
        if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                                 \
        if (fails(fd)) {                                                                                               \
            errno = EIO;                                                                                               \
            return -1;                                                                                                 \
        }                                                                                                              \
        return real arguments;                                                                                         \
    }

INTERCEPT(ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count))
INTERCEPT(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
INTERCEPT(ssize_t, pwrite, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at))
INTERCEPT(ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
INTERCEPT(int, fsync, (int fd), (fd))
INTERCEPT(int, fdatasync, (int fd), (fd))
INTERCEPT(int, ftruncate64, (int fd, off64_t length), (fd, length))
