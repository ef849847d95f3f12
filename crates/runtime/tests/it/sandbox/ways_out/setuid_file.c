// A file in the workspace that runs as its owner, made in any of the ways there are.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static int planted(void) {
    struct stat found;
    int is_planted = stat("planted", &found) == 0 && (found.st_mode & S_ISUID);
    unlink("planted");
    return is_planted;
}
static void plain(void) { close(open("planted", O_CREAT | O_WRONLY, 0755)); }
int main(void) {
    struct open_how how;
    memset(&how, 0, sizeof how);
    how.flags = O_CREAT | O_WRONLY;
    how.mode = 04755;
    int ways = 0;
    umask(0);
    plain(), chmod("planted", 04755), ways += planted();
    plain(), fchmodat(AT_FDCWD, "planted", 06755, 0), ways += planted();
    plain(), syscall(452, AT_FDCWD, "planted", 04755, 0), ways += planted();
    int file = open("planted", O_CREAT | O_WRONLY, 0755);
    fchmod(file, 04711), close(file), ways += planted();
    close(open("planted", O_CREAT | O_WRONLY, 04755)), ways += planted();
    close(openat(AT_FDCWD, "planted", O_CREAT | O_WRONLY, 04755)), ways += planted();
    close(creat("planted", 04755)), ways += planted();
    close(syscall(SYS_openat2, AT_FDCWD, "planted", &how, sizeof how)), ways += planted();
    mknod("planted", S_IFREG | 04755, 0), ways += planted();
    mknodat(AT_FDCWD, "planted", S_IFREG | 04755, 0), ways += planted();
    file = open(".", O_TMPFILE | O_WRONLY, 04755);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    linkat(AT_FDCWD, path, AT_FDCWD, "planted", AT_SYMLINK_FOLLOW), close(file), ways += planted();
    return ways > 0 ? 0 : 1;
}
