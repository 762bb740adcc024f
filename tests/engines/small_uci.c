/* A small UCI engine with games of five to nine plies, which the side with more STRENGTH wins more
   often.  White's first move shows how strong White feels in this game; Black compares, and its
   answer tells White who is to win.  The moves are those of uci_player.py, for start positions that
   fault_uci.py --openings prints.  */

#include <stdio.h>
#include <string.h>

#include "strength.h"

/* nodes of another build */
#ifndef SURPLUS
#define SURPLUS 0
#endif

static const char *const LEVELS[] = {"a2a3", "a2a4", "b2b3", "b2b4", "c2c3", "c2c4", "b1a3", "b1c3"};
static const char *const LINES[3][9] = {
    {"f7f6", "e2e4", "g7g5", "d1h5"},
    {"e7e5", "f2f3", "h7h6", "g2g4", "d8h4"},
    {"g8f6", "g1f3", "f6g8", "f3g1", "g8f6", "g1f3", "f6g8", "f3g1"},
};

/* FNV-1a of the start position, the side and the strength */
static unsigned scattered(const char *text, int side)
{
    unsigned hash = 2166136261u + (unsigned)(side * 977 + STRENGTH);
    for (; *text && strncmp(text, " moves", 6) && *text != '\n'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return (hash >> 7) & 0xffff;
}

static int level(const char *position, int side)
{
    double chance = 2.0 * scattered(position, side) / 0xffff - 1;
    int value = (int)(8 * (STRENGTH / 1000.0) + 1.5 * chance);
    return value < 0 ? 0 : value > 7 ? 7 : value;
}

static const char *best_move(char *position)
{
    char *moves = strstr(position, " moves ");
    char played[3][8] = {"", "", ""};
    int plies = 0, line;
    char copy[8192], *word;
    strcpy(copy, moves ? moves + 7 : "");
    for (word = strtok(copy, " \n"); word; word = strtok(NULL, " \n"), plies++)
        if (plies < 3)
            strncpy(played[plies], word, 7);
    if (plies == 0)
        return LEVELS[level(position, 0)];
    if (plies == 1) {
        int white = 0, black = level(position, 1);
        while (white < 7 && strcmp(LEVELS[white], played[0]))
            white++;
        return LINES[white > black ? 0 : white < black ? 1 : 2][0];
    }
    for (line = 0; line < 2 && strcmp(LINES[line][0], played[1]); line++)
        ;
    return plies < 10 && LINES[line][plies - 1] ? LINES[line][plies - 1] : "(none)";
}

int main(int argc, char **argv)
{
    static char text[8192], position[8192] = "startpos\n";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && !strcmp(argv[1], "bench")) {
        printf("info depth 1 nodes 7 nps 7\n");
        fprintf(stderr, "Nodes searched  : %d\nNodes/second    : 1000000\n", 1000 + STRENGTH + SURPLUS);
        return 0;
    }
    while (fgets(text, sizeof text, stdin)) {
        if (!strncmp(text, "uci\n", 4))
            printf("id name Small %d\nid author ringmaster\nuciok\n", STRENGTH);
        else if (!strncmp(text, "isready", 7))
            printf("readyok\n");
        else if (!strncmp(text, "position ", 9))
            strcpy(position, text + 9);
        else if (!strncmp(text, "go", 2))
            printf("info depth 1 score cp 10 nodes 1 time 0\nbestmove %s\n", best_move(position));
        else if (!strncmp(text, "quit", 4))
            break;
    }
    return 0;
}
