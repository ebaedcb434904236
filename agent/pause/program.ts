import { buildElf, type Machine } from './elf.ts';
import { withJoin } from './join.ts';

/*
 * The sandbox's program, behind what join.ts puts before it. As process 1 of its namespace it gets no signal that it
 * has no handler for, so it blocks the three it cares about and waits for them by name, which counts as caring:
 *
 *         rt_sigprocmask(SIG_BLOCK, &set, NULL, 8)
 *   wait: signal = rt_sigtimedwait(&set, NULL, NULL, 8)
 *         if signal == SIGCHLD goto reap
 *         if signal == SIGTERM or signal == SIGINT goto end
 *         goto wait                                  (interrupted)
 *   reap: if wait4(-1, NULL, WNOHANG, NULL) > 0 goto reap
 *         goto wait
 *   end:  exit_group(0)
 *   set:  SIGINT (2), SIGTERM (15), SIGCHLD (17), bit n - 1 each
 */
const signalSet = [0x02, 0x40, 0x01, 0, 0, 0, 0, 0];

// biome-ignore format: one instruction a line, its offset and meaning beside it
const amd64 = Buffer.from([
  0xb8, 14, 0, 0, 0,                          //  0        mov eax, 14          rt_sigprocmask
  0x31, 0xff,                                 //  5        xor edi, edi         SIG_BLOCK
  0x48, 0x8d, 0x35, 87, 0, 0, 0,              //  7        lea rsi, [rip + 87]  set (14 + 87 = 101)
  0x31, 0xd2,                                 // 14        xor edx, edx
  0x41, 0xba, 8, 0, 0, 0,                     // 16        mov r10d, 8
  0x0f, 0x05,                                 // 22        syscall
  0xb8, 128, 0, 0, 0,                         // 24  wait: mov eax, 128         rt_sigtimedwait
  0x48, 0x8d, 0x3d, 65, 0, 0, 0,              // 29        lea rdi, [rip + 65]  set (36 + 65 = 101)
  0x31, 0xf6,                                 // 36        xor esi, esi
  0x31, 0xd2,                                 // 38        xor edx, edx
  0x41, 0xba, 8, 0, 0, 0,                     // 40        mov r10d, 8
  0x0f, 0x05,                                 // 46        syscall
  0x83, 0xf8, 17,                             // 48        cmp eax, 17          SIGCHLD
  0x74, 12,                                   // 51        je reap              (53 + 12 = 65)
  0x83, 0xf8, 15,                             // 53        cmp eax, 15          SIGTERM
  0x74, 34,                                   // 56        je end               (58 + 34 = 92)
  0x83, 0xf8, 2,                              // 58        cmp eax, 2           SIGINT
  0x74, 29,                                   // 61        je end               (63 + 29 = 92)
  0xeb, 0xd7,                                 // 63        jmp wait             (65 - 41 = 24)
  0xb8, 61, 0, 0, 0,                          // 65  reap: mov eax, 61          wait4
  0x48, 0x83, 0xcf, 0xff,                     // 70        or rdi, -1
  0x31, 0xf6,                                 // 74        xor esi, esi
  0x6a, 1, 0x5a,                              // 76        push 1; pop rdx      WNOHANG
  0x45, 0x31, 0xd2,                           // 79        xor r10d, r10d
  0x0f, 0x05,                                 // 82        syscall
  0x85, 0xc0,                                 // 84        test eax, eax
  0x7f, 0xe9,                                 // 86        jg reap              (88 - 23 = 65)
  0xeb, 0xbe,                                 // 88        jmp wait             (90 - 66 = 24)
  0x90, 0x90,                                 // 90        nop; nop
  0xb8, 231, 0, 0, 0,                         // 92  end:  mov eax, 231         exit_group
  0x31, 0xff,                                 // 97        xor edi, edi
  0x0f, 0x05,                                 // 99        syscall
  ...signalSet,                               // 101 set
]);

// biome-ignore format: one instruction a line, its number and meaning beside it
const arm64Words = [
  0xd2800000,                                 //  0        mov x0, 0            SIG_BLOCK
  0x100003e1,                                 //  1        adr x1, set          (32 - 1 words on)
  0xd2800002,                                 //  2        mov x2, 0
  0xd2800103,                                 //  3        mov x3, 8
  0xd28010e8,                                 //  4        mov x8, 135          rt_sigprocmask
  0xd4000001,                                 //  5        svc 0
  0x10000340,                                 //  6  wait: adr x0, set          (32 - 6 words on)
  0xd2800001,                                 //  7        mov x1, 0
  0xd2800002,                                 //  8        mov x2, 0
  0xd2800103,                                 //  9        mov x3, 8
  0xd2801128,                                 // 10        mov x8, 137          rt_sigtimedwait
  0xd4000001,                                 // 11        svc 0
  0x7100441f,                                 // 12        cmp w0, 17           SIGCHLD
  0x540000c0,                                 // 13        b.eq reap            (19 - 13 words on)
  0x71003c1f,                                 // 14        cmp w0, 15           SIGTERM
  0x540001a0,                                 // 15        b.eq end             (28 - 15 words on)
  0x7100081f,                                 // 16        cmp w0, 2            SIGINT
  0x54000160,                                 // 17        b.eq end             (28 - 17 words on)
  0x17fffff4,                                 // 18        b wait               (18 - 6 words back)
  0x92800000,                                 // 19  reap: mov x0, -1
  0xd2800001,                                 // 20        mov x1, 0
  0xd2800022,                                 // 21        mov x2, 1            WNOHANG
  0xd2800003,                                 // 22        mov x3, 0
  0xd2802088,                                 // 23        mov x8, 260          wait4
  0xd4000001,                                 // 24        svc 0
  0x7100001f,                                 // 25        cmp w0, 0
  0x54ffff2c,                                 // 26        b.gt reap            (26 - 19 words back)
  0x17ffffeb,                                 // 27        b wait               (27 - 6 words back)
  0xd2800000,                                 // 28  end:  mov x0, 0
  0xd2800bc8,                                 // 29        mov x8, 94           exit_group
  0xd4000001,                                 // 30        svc 0
  0xd503201f,                                 // 31        nop                  aligns the set
];

function arm64(): Buffer {
  const code = Buffer.alloc(arm64Words.length * 4 + signalSet.length);
  arm64Words.forEach((word, index) => {
    code.writeUInt32LE(word, index * 4);
  });
  code.set(signalSet, arm64Words.length * 4);
  return code;
}

/** The sandbox's program as an executable file for this machine. */
export function buildPauseProgram(machine: Machine): Buffer {
  return buildElf(machine, withJoin(machine, machine === 'amd64' ? amd64 : arm64()));
}
