// SPDX-License-Identifier: Apache-2.0

// A slow resolver: by LD_PRELOAD this function stands before the C library's. Names below soak.test are this machine. Their
// look-up takes the seconds in the file that SLOW_NAMES names, which may change at any time.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*resolver)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static unsigned delay(void) {
    const char *path = getenv("SLOW_NAMES");
    FILE *file = path ? fopen(path, "re") : NULL;
    unsigned seconds = 0;
    if (file) {
        if (fscanf(file, "%u", &seconds) != 1) { seconds = 0; }
        fclose(file);
    }
    return seconds;
}

int getaddrinfo(
    const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
    struct addrinfo **restrict found) {
    static const char domain[] = ".soak.test";
    size_t length = name ? strlen(name) : 0, tail = sizeof domain - 1;
    if (length > tail && strcmp(name + length - tail, domain) == 0) {
        sleep(delay());
        name = "127.0.0.1";
    }
    return ((resolver)dlsym(RTLD_NEXT, "getaddrinfo"))(name, service, hints, found);
}
