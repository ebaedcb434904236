/** A processor that the sandbox program exists for. */
export type Machine = 'amd64' | 'arm64';

// e_machine of the ELF specification.
const machineNumbers: Readonly<Record<Machine, number>> = { amd64: 62, arm64: 183 };

const headerSize = 64;
const programHeaderSize = 56;
const programHeaders = 2;
/** Where the code begins in the file: right behind the headers. */
export const codeOffset = headerSize + programHeaderSize * programHeaders;
const loadAddress = 0x400000n;
// The largest page size of the two machines, so that the segment can be mapped whatever the kernel's is.
const alignment = 0x10000n;

const typeLoad = 1;
const typeStack = 0x6474e551;
const executable = 1;
const writable = 2;
const readable = 4;

/** The smallest static program: headers, and one segment with the code, which starts at its first byte. */
export function buildElf(machine: Machine, code: Uint8Array): Buffer {
  const file = Buffer.alloc(codeOffset + code.length);
  writeHeader(file, machine);
  writeProgramHeader(file, 0, {
    type: typeLoad,
    flags: readable | executable,
    size: BigInt(file.length),
    address: loadAddress,
    alignment,
  });
  // Says that the stack needs not be executable.
  writeProgramHeader(file, 1, { type: typeStack, flags: readable | writable, size: 0n, address: 0n, alignment: 16n });
  file.set(code, codeOffset);
  return file;
}

function writeHeader(file: Buffer, machine: Machine): void {
  // Magic, 64 bits, little-endian, version 1, System V.
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]);
  file.writeUInt16LE(2, 16); // e_type: executable
  file.writeUInt16LE(machineNumbers[machine], 18);
  file.writeUInt32LE(1, 20); // e_version
  file.writeBigUInt64LE(loadAddress + BigInt(codeOffset), 24); // e_entry
  file.writeBigUInt64LE(BigInt(headerSize), 32); // e_phoff
  file.writeUInt16LE(headerSize, 52); // e_ehsize
  file.writeUInt16LE(programHeaderSize, 54); // e_phentsize
  file.writeUInt16LE(programHeaders, 56); // e_phnum
  file.writeUInt16LE(64, 58); // e_shentsize, of no sections
}

interface Segment {
  readonly type: number;
  readonly flags: number;
  readonly size: bigint;
  readonly address: bigint;
  readonly alignment: bigint;
}

function writeProgramHeader(file: Buffer, index: number, segment: Segment): void {
  const at = headerSize + index * programHeaderSize;
  file.writeUInt32LE(segment.type, at);
  file.writeUInt32LE(segment.flags, at + 4);
  file.writeBigUInt64LE(0n, at + 8); // from the start of the file
  file.writeBigUInt64LE(segment.address, at + 16);
  file.writeBigUInt64LE(segment.address, at + 24);
  file.writeBigUInt64LE(segment.size, at + 32);
  file.writeBigUInt64LE(segment.size, at + 40);
  file.writeBigUInt64LE(segment.alignment, at + 48);
}
