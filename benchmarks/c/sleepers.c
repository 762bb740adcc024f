/* Many games at a time in one bare loop: what a referee could do at most.

   sleepers PAIRS GAMES PLIES ENGINE [ARGUMENT...]

   Starts two UCI engines for each pair, all at once, and lets each pair take turns for
   GAMES games of PLIES plies: one epoll for all answers, one write a move, and nothing
   else.  Prints a line for each pair, with the process ids of both, when all are ready;
   then plays, ends the engines and prints the loop's own CPU seconds of playing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct engine {
    pid_t pid;
    int to, from, have;
    char answer[1 << 12];
};

struct pair {
    struct engine engines[2];
    int ply, game, ready, used;
    char line[1 << 13];
};

static struct pair *pairs;
static int count, games, plies;
static volatile sig_atomic_t going = 1;

static void fail(const char *what) {
    perror(what);
    for (int i = 0; i < 2 * count; i++)
        if (pairs[i / 2].engines[i % 2].pid > 0) kill(pairs[i / 2].engines[i % 2].pid, SIGKILL);
    exit(1);
}

static void start(struct engine *e, char **command) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) fail("pipe");
    e->pid = fork();
    if (e->pid < 0) fail("fork");
    if (!e->pid) {
        setsid(); /* as ringmaster's engines are: Linux shares time among sessions first */
        dup2(in[0], 0);
        dup2(out[1], 1);
        execvp(command[0], command);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    e->to = in[1];
    e->from = out[0];
}

static void tell(struct engine *e, const char *text, size_t length) {
    if (write(e->to, text, length) != (ssize_t)length) fail("write");
}

/* Have the engine whose turn it is move. */
static void turn(struct pair *p) {
    memcpy(p->line + p->used, "\ngo nodes 1\n", 12);
    tell(&p->engines[p->ply % 2], p->line, p->used + 12);
}

static void begin_game(struct pair *p) {
    p->ply = p->ready = 0;
    p->used = strlen(strcpy(p->line, "position startpos"));
    for (int i = 0; i < 2; i++) tell(&p->engines[i], "ucinewgame\nisready\n", 19);
}

/* Take a whole answer; returns whether it was the last of the pair's games. */
static int take(struct pair *p, char *answer) {
    if (strstr(answer, "readyok")) {
        if (++p->ready == 2) turn(p);
        return 0;
    }
    char *move = strstr(answer, "bestmove ");
    if (!move) return 0;
    move += 9;
    size_t length = strcspn(move, " \n");
    if (p->used + length + 32 > sizeof p->line) fail("too long a game");
    p->used += sprintf(p->line + p->used, p->ply ? " %.*s" : " moves %.*s", (int)length, move);
    if (++p->ply < plies) turn(p);
    else if (++p->game < games) begin_game(p);
    else return 1;
    return 0;
}

/* A loop that is asked to end ends its engines by their input, as at the end of its games. */
static void stop(int number) { (void)number, going = 0; }

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    count = atoi(argv[1]), games = atoi(argv[2]), plies = atoi(argv[3]);
    pairs = calloc(count, sizeof *pairs);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[64];
    struct timespec cpu;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, stop);
    for (int i = 0; i < 2 * count; i++) {
        struct engine *e = &pairs[i / 2].engines[i % 2];
        start(e, argv + 4);
        tell(e, "uci\n", 4);
        struct epoll_event event = {EPOLLIN, {.u32 = i}};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, e->from, &event)) fail("epoll");
    }
    for (int i = 0, n; i < 2 * count; i++) { /* each `uciok` ends what an engine says */
        struct engine *e = &pairs[i / 2].engines[i % 2];
        while (!strstr(e->answer, "uciok\n")) {
            if ((n = read(e->from, e->answer + e->have, sizeof e->answer - 1 - e->have)) <= 0)
                fail("read");
            e->have += n;
        }
        memset(e->answer, 0, e->have);
        e->have = 0;
    }
    for (int i = 0; i < count; i++) {
        printf("%d %d\n", pairs[i].engines[0].pid, pairs[i].engines[1].pid);
        begin_game(&pairs[i]);
    }
    fflush(stdout);
    for (going = count; going;) {
        int found = epoll_wait(poll, events, 64, -1);
        for (int i = 0; i < found; i++) {
            struct pair *p = &pairs[events[i].data.u32 / 2];
            struct engine *e = &p->engines[events[i].data.u32 % 2];
            ssize_t n = read(e->from, e->answer + e->have, sizeof e->answer - 1 - e->have);
            if (n <= 0) fail("read");
            e->answer[e->have += n] = 0;
            if (e->answer[e->have - 1] != '\n') continue;
            e->have = 0;
            going -= take(p, e->answer);
        }
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf("%.6f\n", cpu.tv_sec + cpu.tv_nsec / 1e9);
    for (int i = 0; i < 2 * count; i++) close(pairs[i / 2].engines[i % 2].to);
    while (wait(NULL) > 0) {}
    return 0;
}
