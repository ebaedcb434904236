import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readEngineView } from './container-view.ts';
import type { Inspection } from './observe.ts';

const id = 'c0ffee';
let folder: string;
let proc: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-view-'));
  proc = join(folder, 'proc');
  mkdirSync(join(proc, '42'), { recursive: true });
  mkdirSync(join(proc, 'self'));
  mkdirSync(join(folder, 'volume'));
  symlinkSync('volume', join(folder, 'by-link'));
  symlinkSync('/', join(proc, '42', 'root'));
  writeFileSync(join(proc, '42', 'cgroup'), `0::/docker/${id}\n`);
  writeFileSync(join(proc, 'self', 'mountinfo'), '1 0 8:1 / / rw - ext4 /dev/sda rw\n');
  writeFileSync(
    join(proc, '42', 'mountinfo'),
    `9 0 0:9 / / rw - overlay overlay rw\n10 9 8:1 ${folder}/volume /data rw - ext4 /dev/sda rw\n` +
      '11 9 0:5 / /own rw - tmpfs own rw\n12 9 8:1 /engine/hosts /etc/hosts rw - ext4 /dev/sda rw\n',
  );
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function kindsOf(view: Awaited<ReturnType<typeof readEngineView>>): string[] {
  return ['/', '/data/a', '/own', '/etc/hosts'].map((path) => view.placeOf(path).kind);
}

const inspection = (more: object = {}, state: object = {}): Inspection =>
  ({
    Id: id,
    State: { Pid: 42, ...state },
    Mounts: [{ Type: 'bind', Source: join(folder, 'by-link'), Destination: '/data' }],
    ...more,
  }) as unknown as Inspection;

describe("what the engine sees of a container's files", () => {
  it('is judged by the mounts of its main process and of this machine, with the links of the machine followed', async () => {
    const view = await readEngineView(inspection(), proc);
    expect([view.unknown, kindsOf(view)]).toEqual([undefined, ['engine', 'engine', 'container', 'container']]);
  });

  it('includes the files of the network, unless they are replaced by others', async () => {
    mkdirSync(join(folder, 'engine'));
    writeFileSync(join(folder, 'engine', 'hosts'), '');
    const mountinfo = `9 0 0:9 / / rw - overlay overlay rw\n12 9 8:1 ${folder}/engine/hosts /etc/hosts rw - ext4 /dev/sda rw\n`;
    writeFileSync(join(proc, '42', 'mountinfo'), mountinfo);
    const known = await readEngineView(inspection({ HostsPath: join(folder, 'engine', 'hosts') }), proc);
    expect(known.placeOf('/etc/hosts').kind).toBe('engine');
    writeFileSync(join(proc, '42', 'mountinfo'), mountinfo.replace('engine/hosts', 'engine/hosts//deleted'));
    const replaced = await readEngineView(inspection({ HostsPath: join(folder, 'engine', 'hosts') }), proc);
    expect(replaced.placeOf('/etc/hosts').kind).toBe('container');
  });

  it('is what there is without a process', async () => {
    const view = await readEngineView(inspection({}, { Pid: 0 }), proc);
    expect([view.running, view.placeOf('/data').kind, view.placeOf('/dev/shm').kind]).toEqual([false, 'engine', 'container']);
  });

  it.each([
    ['the process is gone', () => rmSync(join(proc, '42', 'mountinfo')), /ENOENT/],
    [
      'the process is of another container',
      () => writeFileSync(join(proc, '42', 'cgroup'), '0::/docker/other\n'),
      /another machine/,
    ],
    [
      'the process has changed its root directory',
      () => {
        rmSync(join(proc, '42', 'root'));
        symlinkSync('/jail', join(proc, '42', 'root'));
      },
      /root directory to "\/jail"/,
    ],
    ['nothing is mounted at its root', () => writeFileSync(join(proc, '42', 'mountinfo'), ''), /no file system is mounted/],
    ['there are too many', () => writeFileSync(join(proc, '42', 'mountinfo'), 'x'.repeat(5e6)), /has more than 4194304 bytes/],
  ])('is unknown, with the reason, when %s', async (_, prepare, reason) => {
    prepare();
    const view = await readEngineView(inspection(), proc);
    expect(view.unknown).toMatch(reason);
    expect(kindsOf(view)).toEqual(['container', 'container', 'container', 'container']);
  });
});
