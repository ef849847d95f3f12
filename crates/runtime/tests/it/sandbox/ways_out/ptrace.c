// Taking control of another process.
#include <stdlib.h>
#include <sys/ptrace.h>
int main(void) {
    return ptrace(PTRACE_SEIZE, atoi(getenv("VICTIM")), 0, 0) == 0 ? 0 : 1;
}
