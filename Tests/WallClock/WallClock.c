// SPDX-License-Identifier: Apache-2.0

// Steps what one process reads of the wall clock, and nothing else: by LD_PRELOAD these functions stand before the C
// library's. WALL_CLOCK_STEP names a file with the step in seconds, which may change at any time. Timers and the monotonic
// clock go on, as they do in a kernel. (libfaketime, the usual tool, moves monotonic timerfds too:
// https://github.com/wolfcw/libfaketime/issues/378. Set back by an hour, a gateway under it waits an hour for each of its
// deadlines.) A wait until a time of the wall clock would end by the clock that was not stepped; the gateway has none.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define IS_INSTRUMENTED
#endif
#endif

#ifdef IS_INSTRUMENTED
// The sanitizer starts in each library that is built with it. redis-server has no sanitizer: there this starts nothing.
__attribute__((weak)) void __tsan_init(void) {}
#pragma clang attribute push(__attribute__((disable_sanitizer_instrumentation)), apply_to = function)
#endif

static time_t step(void) {
    int before = errno;
    const char *path = getenv("WALL_CLOCK_STEP");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char text[16] = "";
    ssize_t length = read(file, text, sizeof text - 1);
    if (file >= 0) { close(file); }
    errno = before;
    return length > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) { now->tv_sec += step(); }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec wall;
    int result = clock_gettime(CLOCK_REALTIME, &wall);
    if (result == 0) { *now = (struct timeval){wall.tv_sec, wall.tv_nsec / 1000}; }
    return result;
}

time_t time(time_t *now) {
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    if (now) { *now = wall.tv_sec; }
    return wall.tv_sec;
}

#ifdef IS_INSTRUMENTED
#pragma clang attribute pop
#endif
