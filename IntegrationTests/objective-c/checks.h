// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#include <arpa/inet.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/// How many checks failed.
static int failed_checks;

static void check(const char *name, bool holds) {
    printf("%s  %s\n", holds ? "ok    " : "FAILED", name);
    fflush(stdout);
    failed_checks += !holds;
}

#define CHECK(name, ...) check(name, (__VA_ARGS__))

/// Asks a server on this machine (`http://127.0.0.1:PORT`) for a path, and writes the answer's body; a server that
/// gives no answer gives an empty one.
static void get(const char *server, const char *path, char *body, size_t size) {
    body[0] = 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((uint16_t)atoi(strrchr(server, ':') + 1));
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    char text[8192];
    size_t length = 0;
    ssize_t part = 0;
    int asked = snprintf(text, sizeof text, "GET /%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0
        && write(connection, text, (size_t)asked) == asked) {
        while (length < sizeof text - 1 && (part = read(connection, text + length, sizeof text - 1 - length)) > 0) {
            length += (size_t)part;
        }
        text[length] = 0;
        const char *start = strstr(text, "\r\n\r\n");
        if (start) snprintf(body, size, "%s", start + 4);
    }
    close(connection);
}

/// How often the test's server was asked for a path.
static int asked_for(const char *server, const char *path) {
    char counted[300], number[20];
    snprintf(counted, sizeof counted, "counts/%s", path);
    get(server, counted, number, sizeof number);
    return number[0] ? atoi(number) : -1;
}

/// Finds the file of the one token that a store keeps in a folder.
static bool stored_file(const char *folder, char *path, size_t size) {
    static const char end[] = ".token";
    bool found = false;
    DIR *files = opendir(folder);
    for (struct dirent *file; files && (file = readdir(files));) {
        size_t length = strlen(file->d_name);
        if (length < sizeof end || strcmp(file->d_name + length - (sizeof end - 1), end) != 0) continue;
        snprintf(path, size, "%s/%s", folder, file->d_name);
        found = true;
    }
    if (files) closedir(files);
    return found;
}
