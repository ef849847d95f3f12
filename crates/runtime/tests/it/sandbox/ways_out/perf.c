// Counting what the machine does.
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof attributes;
    return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0 ? 0 : 1;
}
