import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { recordedContainer as id, layOutMachine } from '../../../test/fixtures/lay-out.ts';
import { readSmallFile } from '../small-file.ts';
import { createContainerReader } from './container-reader.ts';
import { createOomGroups } from './oom-group.ts';

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

/** A recorded machine; under version 2 of cgroups its container has the kernel's file. */
function machine(name: string) {
  const root = layOutMachine(name);
  roots.push(root);
  const path = createContainerReader(root, readSmallFile).read({ id, pid: 77 }, false)?.path ?? '';
  return { root, path };
}

describe('the oom group of a container', () => {
  it.each(['v2-cgroupfs', 'v2-systemd', 'v2-systemd-inside'])('is switched on in its own cgroup: %s', (name) => {
    const { root, path } = machine(name);
    const [file = ''] = fileOf(root, path);
    writeFileSync(file, '0');
    expect(createOomGroups({ root })({ id, pid: 77 })).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe('1');
  });

  it('is left alone under version 1, of another container, of one that has ended, and where the kernel has no such file', () => {
    const warned: string[] = [];
    const group = (root: string) => createOomGroups({ root, warn: (message) => void warned.push(message) });
    expect(group(machine('v1-systemd').root)({ id, pid: 77 })).toBe(false);
    const { root, path } = machine('v2-cgroupfs');
    expect(group(root)({ id, pid: 77 })).toBe(false);
    const [file = ''] = fileOf(root, path);
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, '0');
    for (const other of [
      { id: 'dead'.repeat(16), pid: 77 },
      { id, pid: 78 },
      { id, pid: undefined },
    ])
      expect(group(root)(other)).toBe(false);
    expect([readFileSync(file, 'utf8'), warned]).toEqual(['0', []]);
  });
});

/** Where memory.oom.group of a cgroup is, by a file that stands beside it. */
function fileOf(root: string, path: string): string[] {
  const found = [join(root, 'sys/fs/cgroup', path, 'memory.current')].filter((each) => existsSync(each));
  return found.map((each) => join(dirname(each), 'memory.oom.group'));
}
