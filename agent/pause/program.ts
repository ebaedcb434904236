import { buildElf, type Machine } from './elf.ts';
import { machineCode } from './machine-code.ts';

/** The sandbox's program as an executable file: `program.amd64.s` says what it does. */
export function buildPauseProgram(machine: Machine): Buffer {
  return buildElf(machine, Buffer.from(machineCode[machine], 'base64'));
}
