/* An engine that answers at once, over UCI, USI or GTP, with the moves of a script.

   instant uci|usi|gtp SCRIPT [--info N] [--busy MS | --sleep MS] [--times FILE]

   SCRIPT has the moves of both sides of one game, separated by white space.  The ply of the
   answer is counted from the start of the game: over UCI and USI by the position line (a FEN
   has a move number), over GTP by the moves since clear_board.  It serves both sides of a game.

   --info N      prints N info lines before each bestmove
   --busy MS     computes for MS milliseconds before it answers; --sleep MS sleeps
   --times FILE  writes to FILE.PID, at the end, a line for each move: the nanoseconds of
                 the system's monotonic clock at which `go` was read and the answer written

   With --busy and --sleep, `nodes` of an info line is the number of nanoseconds from reading
   `go` to writing the answer, by the engine's own clock. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_PLIES 4096
#define LIST "boardsize\nclear_board\nknown_command\nkomi\nlist_commands\nname\nplay\ngenmove\nprotocol_version\nquit\nversion"

enum protocol { UCI, USI, GTP };

static enum protocol protocol;
static char *script[MOST_PLIES];
static int plies, ply, infos;
static long long busy, pause_ns;
static const char *times_file;
static long long (*times)[2];
static size_t times_count, times_room;

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

/* Return the plies from the start of the game to a FEN, by its side to move and move number.
   The number of an SFEN counts plies. */
static int count_before(const char *line) {
    char side = 'w', castling_or_hand[64], passant[8];
    int halfmoves, number = 1;
    if (!strncmp(line, "position fen ", 13)) {
        sscanf(line + 13, "%*s %c %63s %7s %d %d", &side, castling_or_hand, passant, &halfmoves, &number);
        return 2 * (number - 1) + (side == 'b');
    }
    if (!strncmp(line, "position sfen ", 14)) sscanf(line + 14, "%*s %c %63s %d", &side, castling_or_hand, &number);
    return number - 1;
}

/* Return the plies of a position line: before its start, and the words after "moves". */
static int count_moves(const char *line) {
    const char *at = strstr(line, " moves ");
    int count = count_before(line);
    if (!at) return count;
    for (at += 6; (at = strchr(at, ' ')); at++) count++;
    return count;
}

static const char *pass(void) { return protocol == GTP ? "pass" : protocol == USI ? "resign" : "0000"; }

/* Use up the time of a move. */
static void think(long long start) {
    if (busy)
        while (now() - start < busy) {}
    if (pause_ns) {
        long long end = start + pause_ns;
        struct timespec t = {end / 1000000000LL, end % 1000000000LL};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    }
}

static void remember(long long start, long long end) {
    if (!times_file) return;
    if (times_count == times_room) {
        times_room = times_room ? 2 * times_room : 1024;
        times = realloc(times, times_room * sizeof *times);
    }
    times[times_count][0] = start;
    times[times_count++][1] = end;
}

static void move(long long start) {
    char line[160];
    think(start);
    if (protocol != GTP) {
        for (int i = 0; i < infos; i++) {
            snprintf(line, sizeof line,
                     "info depth %d seldepth %d multipv 1 score cp %d nodes %d nps 1000000 "
                     "hashfull 0 tbhits 0 time %d pv %s\n",
                     i + 1, i + 4, 10 + i, 1000 * (i + 1), i + 1, ply < plies ? script[ply] : "");
            say(line);
        }
        if (busy || pause_ns) {
            snprintf(line, sizeof line, "info depth 1 score cp 0 nodes %lld\n", now() - start);
            say(line);
        }
    }
    snprintf(line, sizeof line, protocol == GTP ? "= %s\n\n" : "bestmove %s\n",
             ply < plies ? script[ply] : pass());
    say(line);
    ply++;
    if (times_file) remember(start, now());
    flush();
}

static int command(const char *line, long long start) {
    if (protocol == GTP) {
        if (starts(line, "genmove")) { move(start); return 1; }
        if (starts(line, "play")) ply++;
        if (starts(line, "clear_board")) ply = 0;
        if (starts(line, "protocol_version")) say("= 2\n\n");
        else if (starts(line, "name")) say("= Instant\n\n");
        else if (starts(line, "version")) say("= 1\n\n");
        else if (starts(line, "list_commands")) say("= " LIST "\n\n");
        else if (starts(line, "known_command")) {
            char word[64];
            snprintf(word, sizeof word, "\n%.40s\n", line + strlen("known_command "));
            say(strstr("\n" LIST "\n", word) ? "= true\n\n" : "= false\n\n");
        } else say("=\n\n");
        return !starts(line, "quit");
    }
    if (starts(line, "position")) ply = count_moves(line);
    else if (starts(line, "go")) move(start);
    else if (starts(line, "isready")) say("readyok\n");
    else if (starts(line, "uci") || starts(line, "usi")) {
        say("id name Instant\n");
        for (int i = 0; i < 12; i++) {
            char option[80];
            snprintf(option, sizeof option,
                     "option name Weight%d type spin default 100 min 0 max 100000\n", i);
            say(option);
        }
        say(protocol == UCI ? "uciok\n" : "usiok\n");
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

static void write_times(void) {
    char name[4096];
    if (!times_file) return;
    snprintf(name, sizeof name, "%s.%d", times_file, (int)getpid());
    FILE *file = fopen(name, "w");
    if (!file) return;
    for (size_t i = 0; i < times_count; i++) fprintf(file, "%lld %lld\n", times[i][0], times[i][1]);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    protocol = !strcmp(argv[1], "gtp") ? GTP : !strcmp(argv[1], "usi") ? USI : UCI;
    read_script(argv[2]);
    for (int i = 3; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--info")) infos = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--busy")) busy = atof(argv[i + 1]) * 1e6;
        else if (!strcmp(argv[i], "--sleep")) pause_ns = atof(argv[i + 1]) * 1e6;
        else if (!strcmp(argv[i], "--times")) times_file = argv[i + 1];
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
            if (!command(line, start)) { flush(); write_times(); return 0; }
            line = end + 1;
        }
        flush();
        buffered = in + buffered - line;
        memmove(in, line, buffered);
    }
    write_times();
    return 0;
}
