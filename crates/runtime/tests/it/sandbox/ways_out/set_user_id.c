// A program that becomes somebody else when it is started: its own copy, made set-user-ID.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char **words) {
    if (count > 1) return geteuid() == 12345 ? 0 : 1;
    char copy[4096] = "cp ";
    strcat(strcat(copy, words[0]), " ./copy");
    if (system(copy) != 0 || chown("copy", 12345, 12345) != 0 || chmod("copy", 06755) != 0) return 1;
    execl("./copy", "copy", "again", (char *)0);
    return 1;
}
