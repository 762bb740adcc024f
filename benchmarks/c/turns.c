/* A bare pipe loop: two engines play in turn, and nothing else is done.  It is the upper limit
   of a referee's speed.

   turns GAMES PLIES ENGINE [ARGUMENT...]

   A move over UCI is one write (the position, growing by a move a ply, and `go nodes 1`) and a
   read of the answer.
   Prints the seconds from the first move of the second game to the last answer, and the
   CPU seconds in this time of the loop and of both engines (0 without schedstat).  The first
   game is a warm-up. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pid_t pids[2];
static int to[2], from[2];
static char answer[1 << 16];

static void fail(const char *call) {
    perror(call);
    for (int i = 0; i < 2; i++)
        if (pids[i] > 0) kill(pids[i], SIGKILL);
    exit(1);
}

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double used_by_engines(void) {
    double seconds = 0;
    for (int i = 0; i < 2; i++) {
        char path[64];
        unsigned long long ns;
        snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pids[i]);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        if (fscanf(file, "%llu", &ns) == 1) seconds += ns / 1e9;
        fclose(file);
    }
    return seconds;
}

static void start(int i, char **command) {
    int in[2], out[2];
    if (pipe(in) || pipe(out)) fail("pipe");
    pids[i] = fork();
    if (!pids[i]) {
        /* a session each, like ringmaster's engines: Linux shares time among sessions first */
        setsid();
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[0]); close(in[1]); close(out[0]); close(out[1]);
        if (i) { close(to[0]); close(from[0]); }
        execvp(command[0], command);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to[i] = in[1];
    from[i] = out[0];
}

/* Write a request, read until a line that begins with `sign` is complete, and return the line. */
static char *ask(int i, const char *request, size_t length, const char *sign) {
    size_t have = 1;
    answer[0] = '\n';
    if (write(to[i], request, length) != (ssize_t)length) fail("write");
    for (;;) {
        ssize_t n = read(from[i], answer + have, sizeof answer - 1 - have);
        if (n <= 0) fail("read");
        have += n;
        answer[have] = 0;
        if (answer[have - 1] != '\n') continue;
        char *at = memmem(answer, have, sign, strlen(sign));
        if (at) return at + 1;
    }
}

static void word(int i, const char *line, const char *sign) { ask(i, line, strlen(line), sign); }

static void play(int plies) {
    static char line[1 << 16];
    size_t used = strlen(strcpy(line, "position startpos"));
    for (int i = 0; i < 2; i++) word(i, "ucinewgame\nisready\n", "\nreadyok");
    for (int ply = 0; ply < plies; ply++) {
        memcpy(line + used, "\ngo nodes 1\n", 12);
        char *at = ask(ply % 2, line, used + 12, "\nbestmove ") + 9;
        size_t length = strcspn(at, " \n");
        if (used + length + 32 > sizeof line) fail("too long a game");
        memcpy(line + used, ply ? " " : " moves ", ply ? 1 : 7);
        used += ply ? 1 : 7;
        memcpy(line + used, at, length);
        used += length;
    }
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int games = atoi(argv[1]), plies = atoi(argv[2]);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        start(i, argv + 3);
        word(i, "uci\n", "\nuciok");
    }
    double began = 0, cpu = 0, engines = 0;
    for (int game = 0; game <= games; game++) {
        if (game == 1) {
            began = now(CLOCK_MONOTONIC);
            engines = used_by_engines();
            cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        }
        play(plies);
    }
    printf("%.9f ", now(CLOCK_MONOTONIC) - began);
    printf("%.9f ", now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    printf("%.9f\n", used_by_engines() - engines);
    for (int i = 0; i < 2; i++) kill(pids[i], SIGKILL);
    return 0;
}
