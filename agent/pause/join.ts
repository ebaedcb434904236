import type { Machine } from './elf.ts';

/*
 * What the sandbox's program does before it waits: it enters the network that was mounted for it, if one was (a warm
 * sandbox, runtime/docker/warm-networks.ts), and gives up every right it may have been given for that.
 *
 *          network = open("/network", O_RDONLY | O_CLOEXEC)
 *          if network < 0 goto plain                    (the usual sandbox has a network of its own)
 *          if setns(network, CLONE_NEWNET) != 0 goto fail
 *   plain: capset(&header, &none)
 *          goto the program behind this code
 *   fail:  exit_group(1)
 *
 * Behind the program stand the data: header (capabilities version 3, this process), none, and the path.
 */
const data = Buffer.concat([Buffer.from([0x22, 0x05, 0x08, 0x20, 0, 0, 0, 0]), Buffer.alloc(24), Buffer.from('/network\0')]);

// biome-ignore format: one instruction a line, its offset and meaning beside it
const amd64 = Buffer.from([
  0xb8, 2, 0, 0, 0,                           //  0        mov eax, 2           open
  0x48, 0x8d, 0x3d, 205, 0, 0, 0,             //  5        lea rdi, [rip + 205] path (12 + 205 = 76 + 109 + 32)
  0xbe, 0, 0, 8, 0,                           // 12        mov esi, 0x80000     O_RDONLY | O_CLOEXEC
  0x0f, 0x05,                                 // 17        syscall
  0x85, 0xc0,                                 // 19        test eax, eax
  0x78, 18,                                   // 21        js plain             (23 + 18 = 41)
  0x89, 0xc7,                                 // 23        mov edi, eax
  0xbe, 0, 0, 0, 0x40,                        // 25        mov esi, 0x40000000  CLONE_NEWNET
  0xb8, 52, 1, 0, 0,                          // 30        mov eax, 308         setns
  0x0f, 0x05,                                 // 35        syscall
  0x85, 0xc0,                                 // 37        test eax, eax
  0x75, 23,                                   // 39        jne fail             (41 + 23 = 64)
  0xb8, 126, 0, 0, 0,                         // 41 plain: mov eax, 126         capset
  0x48, 0x8d, 0x3d, 132, 0, 0, 0,             // 46        lea rdi, [rip + 132] header (53 + 132 = 76 + 109)
  0x48, 0x8d, 0x35, 133, 0, 0, 0,             // 53        lea rsi, [rip + 133] none (60 + 133 = 76 + 109 + 8)
  0x0f, 0x05,                                 // 60        syscall
  0xeb, 12,                                   // 62        jmp 76               (64 + 12)
  0xbf, 1, 0, 0, 0,                           // 64 fail:  mov edi, 1
  0xb8, 231, 0, 0, 0,                         // 69        mov eax, 231         exit_group
  0x0f, 0x05,                                 // 74        syscall
]);

// biome-ignore format: one instruction a line, its number and meaning beside it
const arm64Words = [
  0x92800c60,                                 //  0        mov x0, -100         AT_FDCWD
  0x10000761,                                 //  1        adr x1, path         (18 + 34 + 8 - 1 words on)
  0xd2a00102,                                 //  2        mov x2, 0x80000      O_RDONLY | O_CLOEXEC
  0xd2800708,                                 //  3        mov x8, 56           openat
  0xd4000001,                                 //  4        svc 0
  0x37f800a0,                                 //  5        tbnz w0, 31, plain   (10 - 5 words on)
  0xd2a80001,                                 //  6        mov x1, 0x40000000   CLONE_NEWNET
  0xd2802188,                                 //  7        mov x8, 268          setns
  0xd4000001,                                 //  8        svc 0
  0x350000c0,                                 //  9        cbnz w0, fail        (15 - 9 words on)
  0x10000540,                                 // 10 plain: adr x0, header       (18 + 34 - 10 words on)
  0x10000561,                                 // 11        adr x1, none         (18 + 34 + 2 - 11 words on)
  0xd2800b68,                                 // 12        mov x8, 91           capset
  0xd4000001,                                 // 13        svc 0
  0x14000004,                                 // 14        b 18                 (18 - 14 words on)
  0xd2800020,                                 // 15 fail:  mov x0, 1
  0xd2800bc8,                                 // 16        mov x8, 94           exit_group
  0xd4000001,                                 // 17        svc 0
];

/** Sizes of the programs that the addresses above reach over. */
const programSizes: Readonly<Record<Machine, number>> = { amd64: 109, arm64: 4 * 34 };

function arm64(): Buffer {
  const code = Buffer.alloc(arm64Words.length * 4);
  arm64Words.forEach((word, index) => {
    code.writeUInt32LE(word, index * 4);
  });
  return code;
}

/** Puts the entering of a network before a program. */
export function withJoin(machine: Machine, program: Buffer): Buffer {
  if (program.length !== programSizes[machine]) throw new Error(`the program has ${program.length} bytes: mend the addresses`);
  return Buffer.concat([machine === 'amd64' ? amd64 : arm64(), program, data]);
}
