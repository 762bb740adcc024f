/* A UCI engine that answers at once with the moves of a script.

   instant SCRIPT [--info N] [--busy MS]

   SCRIPT has the moves of both sides of one game, separated by white space.  The ply of the
   answer is counted from the start of the game by the position line (a FEN has a move number).
   It serves both sides of a game.

   --info N   prints N info lines before each bestmove
   --busy MS  computes for MS milliseconds before it answers; `nodes` of an info line is then the
              number of nanoseconds from reading `go` to writing the answer, by its own clock */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_PLIES 4096

static char *script[MOST_PLIES];
static int plies, ply, infos;
static long long busy;

static char in[1 << 20], out[1 << 20];
static size_t out_used;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void say(const char *text) {
    size_t length = strlen(text);
    if (out_used + length > sizeof out) exit(3);
    memcpy(out + out_used, text, length);
    out_used += length;
}

static void flush(void) {
    for (size_t at = 0; at < out_used;) {
        ssize_t n = write(1, out + at, out_used - at);
        if (n <= 0) exit(1);
        at += n;
    }
    out_used = 0;
}

static int starts(const char *line, const char *word) {
    size_t length = strlen(word);
    return !strncmp(line, word, length) && (line[length] == 0 || line[length] == ' ');
}

/* Return the plies from the start of the game to a FEN, by its side to move and move number. */
static int count_before(const char *line) {
    char side = 'w', castling[64], passant[8];
    int halfmoves, number = 1;
    if (strncmp(line, "position fen ", 13)) return 0;
    sscanf(line + 13, "%*s %c %63s %7s %d %d", &side, castling, passant, &halfmoves, &number);
    return 2 * (number - 1) + (side == 'b');
}

/* Return the plies of a position line: before its start, and the words after "moves". */
static int count_moves(const char *line) {
    const char *at = strstr(line, " moves ");
    int count = count_before(line);
    if (!at) return count;
    for (at += 6; (at = strchr(at, ' ')); at++) count++;
    return count;
}

static void move(long long start) {
    char line[160];
    while (busy && now() - start < busy) {}
    for (int i = 0; i < infos; i++) {
        snprintf(line, sizeof line,
                 "info depth %d seldepth %d multipv 1 score cp %d nodes %d nps 1000000 "
                 "hashfull 0 tbhits 0 time %d pv %s\n",
                 i + 1, i + 4, 10 + i, 1000 * (i + 1), i + 1, ply < plies ? script[ply] : "");
        say(line);
    }
    if (busy) {
        snprintf(line, sizeof line, "info depth 1 score cp 0 nodes %lld\n", now() - start);
        say(line);
    }
    snprintf(line, sizeof line, "bestmove %s\n", ply < plies ? script[ply] : "0000");
    say(line);
    flush();
}

static int command(const char *line, long long start) {
    if (starts(line, "position")) ply = count_moves(line);
    else if (starts(line, "go")) move(start);
    else if (starts(line, "isready")) say("readyok\n");
    else if (starts(line, "uci")) {
        say("id name Instant\n");
        for (int i = 0; i < 12; i++) {
            char option[80];
            snprintf(option, sizeof option,
                     "option name Weight%d type spin default 100 min 0 max 100000\n", i);
            say(option);
        }
        say("uciok\n");
    } else if (starts(line, "quit")) return 0;
    return 1;
}

static void read_script(const char *name) {
    FILE *file = fopen(name, "r");
    char word[64];
    if (!file) { perror(name); exit(2); }
    while (plies < MOST_PLIES && fscanf(file, "%63s", word) == 1) script[plies++] = strdup(word);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    read_script(argv[1]);
    for (int i = 2; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--info")) infos = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--busy")) busy = atof(argv[i + 1]) * 1e6;
        else return 2;
    }
    size_t buffered = 0;
    ssize_t n;
    while (buffered < sizeof in - 1 && (n = read(0, in + buffered, sizeof in - 1 - buffered)) > 0) {
        long long start = now();
        char *line = in, *end;
        buffered += n;
        in[buffered] = 0;
        while ((end = memchr(line, '\n', in + buffered - line))) {
            *end = 0;
            if (end > line && end[-1] == '\r') end[-1] = 0;
            if (!command(line, start)) { flush(); return 0; }
            line = end + 1;
        }
        flush();
        buffered = in + buffered - line;
        memmove(in, line, buffered);
    }
    return 0;
}
