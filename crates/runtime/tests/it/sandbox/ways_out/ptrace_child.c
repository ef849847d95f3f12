// Taking control of a process of one's own, to change its system calls after they were checked.
#include <sys/ptrace.h>
int main(void) {
    return ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 ? 0 : 1;
}
