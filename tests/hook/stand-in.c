/* Stands for the program: "sync" and "status" succeed, "serve" waits. Notes its arguments and signals in $NOTES. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void on_signal(int number) { caught = number; }

int main(int count, char **arguments) {
    FILE *notes = fopen(getenv("NOTES"), "a");
    int serve = 0, i;
    if (!notes) return 1;
    setlinebuf(notes);
    for (i = 1; i < count; i++) {
        fprintf(notes, "%s ", arguments[i]);
        serve |= strcmp(arguments[i], "serve") == 0;
    }
    fprintf(notes, "in %s ", getenv("AIDEN_CONFIG_DIR"));
    fprintf(notes, "key=%s\n", getenv("AIDEN_TEST_KEY") ? getenv("AIDEN_TEST_KEY") : "");
    if (!serve) return 0;
    if (strcmp(arguments[count - 1], "fail") == 0) return 2;
    signal(SIGHUP, on_signal);
    signal(SIGTERM, getenv("STUBBORN") ? SIG_IGN : on_signal);
    for (;;) {
        pause();
        fprintf(notes, caught == SIGHUP ? "HUP\n" : "TERM\n");
        if (caught == SIGTERM) return 0;
    }
}
