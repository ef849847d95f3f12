// A call by the numbers of 32-bit x86, which mean other calls. (socketcall is one for all of the network.)
#ifndef __x86_64__
#error only for x86-64
#endif
int main(void) {
    int pid;
    __asm__ volatile("int $0x80" : "=a"(pid) : "a"(20 /* getpid */) : "memory");
    return pid > 0 ? 0 : 1;
}
