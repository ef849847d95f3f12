// Reading and connecting by way of a ring, past a filter of system calls.
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    char parameters[120];
    memset(parameters, 0, sizeof parameters);
    return syscall(425, 4, parameters) >= 0 ? 0 : 1;
}
