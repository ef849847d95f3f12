// Reading memory of a process by its number. Inside, the number means nothing; so it reads its own, too.
#define _GNU_SOURCE
#include <sys/uio.h>
#include <unistd.h>
int main(void) {
    char from[4] = "abc", to[4];
    struct iovec remote = { from, 4 }, local = { to, 4 };
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 4 ? 0 : 1;
}
