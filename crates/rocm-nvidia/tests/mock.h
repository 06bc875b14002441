// What every stand-in has: it notes each call, and fails one when it is told to.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef unsigned Status;
typedef void *Handle;

static char calls[1 << 16];
static const char *failing;
static Status failure;

// What was called since the last time, a call a line.
const char *mock_calls(void) {
    static char taken[sizeof(calls)];
    strcpy(taken, calls);
    calls[0] = 0;
    return taken;
}

// The next call of `name` fails with `status`, and does nothing.
void mock_fail(const char *name, Status status) {
    failing = name;
    failure = status;
}

static Status note(const char *name, const char *text) {
    strncat(calls, name, sizeof(calls) - strlen(calls) - 1);
    strncat(calls, text, sizeof(calls) - strlen(calls) - 1);
    strncat(calls, "\n", sizeof(calls) - strlen(calls) - 1);
    if (failing != NULL && strcmp(failing, name) == 0) {
        failing = NULL;
        return failure;
    }
    return 0;
}

// Notes the call of the function that this stands in, with the text, and returns from it when it is told to fail.
#define NOTE(...) \
    do { \
        char text[256]; \
        snprintf(text, sizeof(text), __VA_ARGS__); \
        Status status = note(__func__, text); \
        if (status != 0) return status; \
    } while (0)
