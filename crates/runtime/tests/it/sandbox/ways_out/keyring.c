// The kernel's keys of this user.
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    return syscall(SYS_add_key, "user", "attache-test", "x", 1, -1 /* thread */) >= 0 ? 0 : 1;
}
