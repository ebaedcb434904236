# The sandbox's program, behind the ELF headers that elf.ts makes. hack/update-pause assembles it.
#
# First it gives up every right. Then, as process 1 of its namespace, it waits: such a process gets no signal that it
# has no handler for, so it blocks the three that it cares about and waits for them by name, which counts as caring. It
# reaps children, and ends on SIGINT and SIGTERM.
        .intel_syntax noprefix
        .set SYS_rt_sigprocmask, 14
        .set SYS_wait4, 61
        .set SYS_capset, 126
        .set SYS_rt_sigtimedwait, 128
        .set SYS_exit_group, 231
        .set SIG_BLOCK, 0
        .set SIGINT, 2
        .set SIGTERM, 15
        .set SIGCHLD, 17
        .set WNOHANG, 1

        .text
        .globl _start
_start: mov     eax, SYS_capset         # capset(&header, &none)
        lea     rdi, [rip + header]
        lea     rsi, [rip + none]
        syscall
        mov     eax, SYS_rt_sigprocmask # rt_sigprocmask(SIG_BLOCK, &set, NULL, 8)
        mov     edi, SIG_BLOCK
        lea     rsi, [rip + set]
        xor     edx, edx
        mov     r10d, 8
        syscall
wait:   mov     eax, SYS_rt_sigtimedwait # signal = rt_sigtimedwait(&set, NULL, NULL, 8)
        lea     rdi, [rip + set]
        xor     esi, esi
        xor     edx, edx
        mov     r10d, 8
        syscall
        cmp     eax, SIGCHLD
        je      reap
        cmp     eax, SIGTERM
        je      end
        cmp     eax, SIGINT
        je      end
        jmp     wait                    # interrupted
reap:   mov     eax, SYS_wait4          # while (wait4(-1, NULL, WNOHANG, NULL) > 0);
        mov     rdi, -1
        xor     esi, esi
        mov     edx, WNOHANG
        xor     r10d, r10d
        syscall
        test    eax, eax
        jg      reap
        jmp     wait
end:    xor     edi, edi                # exit_group(0)
        mov     eax, SYS_exit_group
        syscall

        .balign 8
set:    .quad   (1 << (SIGINT - 1)) | (1 << (SIGTERM - 1)) | (1 << (SIGCHLD - 1))
header: .long   0x20080522, 0           # _LINUX_CAPABILITY_VERSION_3, this process
none:   .zero   24
