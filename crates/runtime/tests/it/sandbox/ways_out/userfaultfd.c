// Stopping the kernel in the middle of a call.
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    return syscall(SYS_userfaultfd, 1) >= 0 ? 0 : 1;
}
