import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extract } from 'tar-stream';
import { afterAll, describe, expect, it } from 'vitest';
import { createFakeRuntime } from '../../test/fakes/fake-runtime.ts';
import { codeOffset } from './elf.ts';
import { buildPauseProgram } from './program.ts';
import { ensureSandboxImage, ownSandboxImage, sandboxLayer, thisMachine } from './sandbox-image.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-pause-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the sandbox program', () => {
  it.each([
    ['amd64', 62],
    ['arm64', 183],
  ] as const)('is a static 64-bit ELF executable for %s whose entry is its first instruction', (machine, number) => {
    const file = buildPauseProgram(machine);
    expect(file.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect([file[4], file[5], file.readUInt16LE(16), file.readUInt16LE(18)]).toEqual([2, 1, 2, number]);
    expect(Number(file.readBigUInt64LE(24))).toBe(0x400000 + codeOffset);
    // One loaded segment holds the whole file and can be read and executed;
    // the second only says that the stack is not executable.
    expect([file.readUInt32LE(64), file.readUInt32LE(68), Number(file.readBigUInt64LE(96))]).toEqual([1, 5, file.length]);
    expect([file.readUInt32LE(120), file.readUInt32LE(124)]).toEqual([0x6474e551, 6]);
    expect(file.includes(Buffer.from([2, 0x40, 1, 0, 0, 0, 0, 0]))).toBe(true);
    // The rights that it keeps: none.
    expect(file.subarray(-24)).toEqual(Buffer.alloc(24));
  });

  describe.runIf(process.arch === 'x64')('for real', () => {
    const program = join(folder, 'pause');
    writeFileSync(program, buildPauseProgram('amd64'), { mode: 0o755 });

    async function started() {
      const child = spawn(program, { stdio: 'ignore' });
      await once(child, 'spawn');
      // It sleeps once it waits for a signal: state S. Only then are its signals blocked.
      while (stat(child.pid)[2] !== 'S') await new Promise((resolve) => setImmediate(resolve));
      return child;
    }
    const stat = (pid: number | undefined) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ');

    it.each(['SIGTERM', 'SIGINT'] as const)('sleeps without using the processor and ends with code 0 on %s', async (signal) => {
      const child = await started();
      // The kernel may count its own work for the start as a tick of the program.
      const ticks = () => [stat(child.pid)[13], stat(child.pid)[14]];
      const before = ticks();
      // Some time goes by: one that does not sleep takes several ticks of it.
      for (let i = 0; i < 10; i++) {
        const other = await started();
        other.kill('SIGKILL');
        await once(other, 'exit');
      }
      expect(ticks()).toEqual(before);
      child.kill(signal);
      expect(await once(child, 'exit')).toEqual([0, null]);
    });

    it('goes on after the death of a child that is not there, and after being stopped and continued', async () => {
      const child = await started();
      child.kill('SIGCHLD');
      child.kill('SIGSTOP');
      child.kill('SIGCONT');
      await new Promise((resolve) => setImmediate(resolve));
      expect(child.exitCode).toBeNull();
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).toEqual([0, null]);
    });
  });
});

describe('the sandbox image', () => {
  it('is one layer with the program, the same bytes every time', async () => {
    const layer = await sandboxLayer('amd64');
    expect(layer).toEqual(await sandboxLayer('amd64'));
    const names: string[] = [];
    const reading = extract();
    reading.on('entry', (header, stream, next) => {
      names.push(`${header.name} ${header.mode?.toString(8)}`);
      stream.on('end', next).resume();
    });
    reading.end(layer);
    await once(reading, 'finish');
    expect(names).toEqual(['pause 755']);
  });

  it('is loaded, whatever has its name, and never pulled', async () => {
    const fake = createFakeRuntime({ images: [ownSandboxImage] });
    await ensureSandboxImage(fake.images, undefined, 'amd64');
    expect(fake.calls.map((call) => `${call.method} ${call.target}`)).toEqual([`load ${ownSandboxImage}`]);
  });

  it('is pulled when it is set to another that is not present', async () => {
    const fake = createFakeRuntime();
    await ensureSandboxImage(fake.images, 'example.org/pause:3');
    expect(fake.callsOf('pull').map((call) => call.target)).toEqual(['example.org/pause:3']);
  });

  it('refuses a processor there is no program for', () => {
    expect(() => thisMachine('riscv64')).toThrow('riscv64');
  });
});
