/* Loaded before libc (LD_PRELOAD): counts every call that changes the disk below FAULT_ROOT, in a process and all
 * that it starts, and at the one numbered FAULT_AT kills the whole process group or lets the call fail.
 *
 * FAULT_ROOT   directory; calls elsewhere are not counted
 * FAULT_COUNT  file of 8 bytes that holds the count, shared by all processes
 * FAULT_AT     number of the call, from 1; 0 only counts
 * FAULT_KIND   0 kills with SIGKILL, else the errno to fail with
 * FAULT_STAYS  1: every call from that one on fails, as on a disk that is full and stays so
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int64_t *count;
static int64_t fault_at;
static int kind, stays;
static char root[PATH_MAX];
static size_t root_length;

static int real_open(const char *path, int flags, mode_t mode) {
    static int (*next)(const char *, int, ...);
    if (!next) next = dlsym(RTLD_NEXT, "open");
    return next(path, flags, mode);
}

/* Read the fault from the environment; called again by a process that was forked and is given one of its own. */
__attribute__((constructor)) void fault_prepare(void) {
    const char *where = getenv("FAULT_ROOT"), *file = getenv("FAULT_COUNT");
    if (!where || !file || !getenv("FAULT_AT") || !getenv("FAULT_KIND")) return;
    int descriptor = real_open(file, O_RDWR | O_CLOEXEC, 0);
    if (descriptor < 0) return;
    void *page = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (page == MAP_FAILED) return;
    strncpy(root, where, sizeof root - 1);
    root_length = strlen(root);
    fault_at = atoll(getenv("FAULT_AT"));
    kind = atoi(getenv("FAULT_KIND"));
    stays = getenv("FAULT_STAYS") && atoi(getenv("FAULT_STAYS"));
    count = page;
}

static int inside(const char *path) {
    char here[PATH_MAX];
    if (!count || !path) return 0;
    if (path[0] == '/') return strncmp(path, root, root_length) == 0;
    return getcwd(here, sizeof here) && strncmp(here, root, root_length) == 0;
}

static int inside_fd(int descriptor) {
    char name[64], path[PATH_MAX];
    if (!count) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, root, root_length) == 0;
}

/* Tell whether this call is to fail; does not come back where it is to die. */
static int fails(void) {
    int64_t now = __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    if (!fault_at || now < fault_at || (now > fault_at && !stays)) return 0;
    if (!kind) {
        kill(0, SIGKILL);
        for (;;) pause();
    }
    errno = kind;
    return 1;
}

#define NEXT(name) ({ static typeof(&name) found; if (!found) found = dlsym(RTLD_NEXT, #name); found; })

ssize_t write(int fd, const void *data, size_t size) {
    if (inside_fd(fd) && fails()) return -1;
    return NEXT(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    if (inside_fd(fd) && fails()) return -1;
    return NEXT(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    if (inside_fd(fd) && fails()) return -1;
    return NEXT(pwrite64)(fd, data, size, at);
}
int fsync(int fd) {
    if (inside_fd(fd) && fails()) return -1;
    return NEXT(fsync)(fd);
}
int fdatasync(int fd) {
    if (inside_fd(fd) && fails()) return -1;
    return NEXT(fdatasync)(fd);
}
int ftruncate(int fd, off_t size) {
    if (inside_fd(fd) && fails()) return -1;
    return NEXT(ftruncate)(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    if (inside_fd(fd) && fails()) return -1;
    return NEXT(ftruncate64)(fd, size);
}
int rename(const char *from, const char *to) {
    if (inside(to) && fails()) return -1;
    return NEXT(rename)(from, to);
}
int renameat(int one, const char *from, int two, const char *to) {
    if (inside(to) && fails()) return -1;
    return NEXT(renameat)(one, from, two, to);
}
int renameat2(int one, const char *from, int two, const char *to, unsigned int flags) {
    if (inside(to) && fails()) return -1;
    return NEXT(renameat2)(one, from, two, to, flags);
}
int link(const char *from, const char *to) {
    if (inside(to) && fails()) return -1;
    return NEXT(link)(from, to);
}
int linkat(int one, const char *from, int two, const char *to, int flags) {
    if (inside(to) && fails()) return -1;
    return NEXT(linkat)(one, from, two, to, flags);
}
int unlink(const char *path) {
    if (inside(path) && fails()) return -1;
    return NEXT(unlink)(path);
}
int unlinkat(int at, const char *path, int flags) {
    if (inside(path) && fails()) return -1;
    return NEXT(unlinkat)(at, path, flags);
}
int mkdir(const char *path, mode_t mode) {
    if (inside(path) && fails()) return -1;
    return NEXT(mkdir)(path, mode);
}

#define OPENS(flags) ((flags) & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR))
#define MODE(flags) mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

int open(const char *path, int flags, ...) {
    MODE(flags)
    if (OPENS(flags) && inside(path) && fails()) return -1;
    return NEXT(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags)
    if (OPENS(flags) && inside(path) && fails()) return -1;
    return NEXT(open64)(path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
    MODE(flags)
    if (OPENS(flags) && inside(path) && fails()) return -1;
    return NEXT(openat)(at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    MODE(flags)
    if (OPENS(flags) && inside(path) && fails()) return -1;
    return NEXT(openat64)(at, path, flags, mode);
}
