/* Raw SQLite group commit on command, so that it can alternate with a server under load:
 *
 *     commit_floor FOLDER
 *
 * Each line "GROUP COUNT" read is answered by the rows a second with which COUNT jobs were
 * committed, GROUP at a time.
 */
#include "commit_floor.h"

int main(int argc, char **argv)
{
    struct floor floor = {0};
    char line[64];
    if (argc != 2) {
        fprintf(stderr, "usage: commit_floor FOLDER\n");
        return 2;
    }
    floor_open(&floor, argv[1]);
    while (fgets(line, sizeof(line), stdin)) {
        char *rest = NULL;
        int group = (int)strtol(line, &rest, 10);
        int count = (int)strtol(rest, NULL, 10);
        if (group < 1 || count < 1)
            die("commit_floor", "GROUP COUNT");
        printf("%.1f\n", floor_many(&floor, count, group));
        fflush(stdout);
    }
    sqlite3_close_v2(floor.db);
    return 0;
}
