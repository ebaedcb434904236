// The sandbox's program for arm64; program.amd64.s says what it does. hack/update-pause assembles it.
        .set SYS_capset, 91
        .set SYS_exit_group, 94
        .set SYS_rt_sigprocmask, 135
        .set SYS_rt_sigtimedwait, 137
        .set SYS_wait4, 260
        .set SIG_BLOCK, 0
        .set SIGINT, 2
        .set SIGTERM, 15
        .set SIGCHLD, 17
        .set WNOHANG, 1

        .text
        .globl _start
_start: adr     x0, header              // capset(&header, &none)
        adr     x1, none
        mov     x8, SYS_capset
        svc     0
        mov     x0, SIG_BLOCK           // rt_sigprocmask(SIG_BLOCK, &set, NULL, 8)
        adr     x1, set
        mov     x2, 0
        mov     x3, 8
        mov     x8, SYS_rt_sigprocmask
        svc     0
wait:   adr     x0, set                 // signal = rt_sigtimedwait(&set, NULL, NULL, 8)
        mov     x1, 0
        mov     x2, 0
        mov     x3, 8
        mov     x8, SYS_rt_sigtimedwait
        svc     0
        cmp     w0, SIGCHLD
        b.eq    reap
        cmp     w0, SIGTERM
        b.eq    end
        cmp     w0, SIGINT
        b.eq    end
        b       wait                    // interrupted
reap:   mov     x0, -1                  // while (wait4(-1, NULL, WNOHANG, NULL) > 0);
        mov     x1, 0
        mov     x2, WNOHANG
        mov     x3, 0
        mov     x8, SYS_wait4
        svc     0
        cmp     w0, 0
        b.gt    reap
        b       wait
end:    mov     x0, 0                   // exit_group(0)
        mov     x8, SYS_exit_group
        svc     0

        .balign 8
set:    .quad   (1 << (SIGINT - 1)) | (1 << (SIGTERM - 1)) | (1 << (SIGCHLD - 1))
header: .word   0x20080522, 0           // _LINUX_CAPABILITY_VERSION_3, this process
none:   .zero   24
