/* A bare pipe loop: count an engine's answers a second, and do nothing else with them.

   pipe_loop POSITIONS PASSES IN_FLIGHT REQUEST SIGN SETUP ENGINE [ARGUMENT...]

   POSITIONS has a FEN a line; REQUEST follows each ("eval").  An answer is a line that begins
   with SIGN.  SETUP is written first, with \n for line ends.  Prints the seconds from the first
   request to the last answer without the first pass, and the CPU seconds of loop and engine
   in this time. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char buffer[(1 << 16) + 512];

static void fail(const char *call) { perror(call); exit(1); }

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void put(int fd, const char *text, size_t length) {
    while (length) {
        ssize_t n = write(fd, text, length);
        if (n <= 0) fail("write");
        text += n;
        length -= n;
    }
}

int main(int argc, char **argv) {
    if (argc < 8) return 2;
    int passes = atoi(argv[2]), in_flight = atoi(argv[3]);
    char sign[256], *setup = argv[6];
    size_t sign_length = snprintf(sign, sizeof sign, "\n%s", argv[5]);
    FILE *file = fopen(argv[1], "r");
    if (!file) fail(argv[1]);
    char **requests = NULL, line[512];
    size_t *lengths = NULL, count = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        requests = realloc(requests, (count + 1) * sizeof *requests);
        lengths = realloc(lengths, (count + 1) * sizeof *lengths);
        int n = asprintf(&requests[count], "position fen %s\n%s\n", line, argv[4]);
        lengths[count++] = n;
    }
    int in[2], out[2];
    if (pipe(in) || pipe(out)) fail("pipe");
    pid_t child = fork();
    if (!child) {
        /* a session each, like ringmaster's engines: Linux shares time among sessions first */
        setsid();
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[0]); close(in[1]); close(out[0]); close(out[1]);
        execvp(argv[7], argv + 7);
        fail(argv[7]);
    }
    close(in[0]);
    close(out[1]);
    for (char *at; (at = strstr(setup, "\\n")); setup = at + 2) {
        put(in[1], setup, at - setup);
        put(in[1], "\n", 1);
    }
    size_t buffered = 1, sent = 0, done = 0, total = passes * count;
    buffer[0] = '\n';
    clockid_t theirs;
    if (clock_getcpuclockid(child, &theirs)) fail("clock");
    double start = 0, cpu = 0;
    while (done < total) {
        while (sent < total && sent - done < (size_t)in_flight) {
            /* as many as fit into one write */
            static char batch[1 << 16];
            size_t used = 0;
            while (sent < total && sent - done < (size_t)in_flight &&
                   used + lengths[sent % count] <= sizeof batch) {
                memcpy(batch + used, requests[sent % count], lengths[sent % count]);
                used += lengths[sent++ % count];
            }
            put(in[1], batch, used);
        }
        ssize_t n = read(out[0], buffer + buffered, 1 << 16);
        if (n <= 0) fail("read");
        size_t have = buffered + n;
        char *from = buffer, *at;
        while ((at = memmem(from, buffer + have - from, sign, sign_length))) {
            if (++done == count) {
                start = now(CLOCK_MONOTONIC);
                cpu = now(CLOCK_PROCESS_CPUTIME_ID) + now(theirs);
            }
            from = at + sign_length;
        }
        buffered = sign_length - 1;
        if ((size_t)(buffer + have - from) < buffered) buffered = buffer + have - from;
        memmove(buffer, buffer + have - buffered, buffered);
    }
    printf("%.9f ", now(CLOCK_MONOTONIC) - start);
    printf("%.9f\n", now(CLOCK_PROCESS_CPUTIME_ID) + now(theirs) - cpu);
    kill(child, SIGKILL);
    return 0;
}
