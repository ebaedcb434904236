import { describe, expect, it } from 'vitest';
import { MountTable } from '../../machine/mount-table.ts';
import { createEngineView, createStoppedView, createUnknownView, type EngineMount, type EngineView } from './engine-view.ts';

/** Lines "id parent device root mountpoint type". */
const table = (lines: readonly string[]): MountTable =>
  new MountTable(
    lines.map((line) => {
      const [id, parentId, device = '', root = '', mountPoint = '', type = ''] = line.split(' ');
      return { id: Number(id), parentId: Number(parentId), device, root, mountPoint, type };
    }),
  );

const host = ['1 0 8:1 / / ext4', '2 1 0:7 / /pods/mem tmpfs', '3 1 0:5 / /proc proc', '4 1 0:20 / /disk/usb ext4'];
const container = [
  '10 0 0:9 / / overlay',
  '11 10 0:10 / /proc proc',
  '12 10 0:11 / /dev tmpfs',
  '13 12 0:12 / /dev/shm tmpfs',
  '14 11 0:13 / /proc/acpi tmpfs',
  '15 10 8:1 /pods/data /data ext4',
  '16 10 0:7 / /mem tmpfs',
  '17 10 8:1 /engine/hosts /etc/hosts ext4',
];
const mounts: readonly EngineMount[] = [
  { destination: '/data', source: '/pods/data' },
  { destination: '/mem', source: '/pods/mem' },
  { destination: '/etc/hosts', source: '/engine/hosts' },
];

const viewOf = (more: readonly string[] = [], engine: readonly EngineMount[] = mounts): EngineView =>
  createEngineView(table([...container, ...more]), table(host), engine);
const kindsBelow = (view: EngineView, folder: string) =>
  view.below(folder).map(({ kind, mount }) => `${mount.mountPoint} ${kind}`);

describe('the way to a path of a container', () => {
  it.each([
    ['/', 'engine'],
    ['/etc/passwd', 'engine'],
    ['/etc/hosts', 'engine'],
    ['/data/a', 'engine'],
    ['/mem', 'engine'],
    ['/mem/a', 'engine'],
    ['/dev/shm/a', 'container'],
    ['/dev/null', 'container'],
    ['/proc/version', 'kernel'],
    ['/proc', 'kernel'],
    ['/process', 'engine'],
  ])('%s is "%s"', (path, kind) => expect(viewOf().placeOf(path).kind).toBe(kind));

  it('is the container for what it has mounted itself, on a folder, on a volume or below one', () => {
    const view = viewOf(['20 10 0:30 / /own tmpfs', '21 15 0:31 / /data tmpfs', '22 16 0:32 / /mem/inner tmpfs']);
    for (const path of ['/own', '/own/a', '/data', '/data/a', '/mem/inner/a']) expect(view.placeOf(path).kind).toBe('container');
    for (const path of ['/mem/a', '/owner']) expect(view.placeOf(path).kind).toBe('engine');
    expect(view.placeOf('/mem/inner/a').mount).toMatchObject({ mountPoint: '/mem/inner', type: 'tmpfs' });
  });

  it("is the engine for copies of a volume that the engine itself leaves below the container's", () => {
    const stacked = container.map((line) => (line.startsWith('15 ') ? '15 20 8:1 /pods/data /data ext4' : line));
    const view = createEngineView(table([...stacked, '20 10 8:1 /pods/data /data ext4']), table(host), mounts);
    expect(view.placeOf('/data/a').kind).toBe('engine');
  });

  it('is the container when the engine would find another file than the container has', () => {
    const moved = [{ destination: '/data', source: '/pods/new' }, ...mounts.slice(1)];
    expect(viewOf([], moved).placeOf('/data/a').kind).toBe('container');
    const gone = [{ destination: '/data', source: undefined }, ...mounts.slice(1)];
    expect(viewOf([], gone).placeOf('/data/a').kind).toBe('container');
    // The machine has mounted something below the volume since.
    const usb = viewOf(['20 10 8:1 /disk /disk ext4'], [...mounts, { destination: '/disk', source: '/disk' }]);
    expect([usb.placeOf('/disk/a').kind, usb.placeOf('/disk/usb/a').kind]).toEqual(['engine', 'container']);
  });

  it('is the engine for a volume whose path leads through a link of the image', () => {
    const token = { destination: '/var/run/token', source: '/pods/token' };
    const view = viewOf(['20 10 8:1 /pods/token /run/token ext4'], [...mounts, token]);
    expect([view.placeOf('/run/token/a').kind, view.placeOf('/run/other').kind]).toEqual(['engine', 'engine']);
    // A mount of the container's own of the same files is none of the engine's.
    const twice = viewOf(['20 10 8:1 /pods/data /again ext4']);
    expect([twice.placeOf('/data/a').kind, twice.placeOf('/again/a').kind]).toEqual(['engine', 'container']);
  });

  it("is the kernel's also where a volume brings it in", () => {
    const view = viewOf(['20 10 0:5 / /host/proc proc'], [...mounts, { destination: '/host/proc', source: '/proc' }]);
    expect(view.placeOf('/host/proc/stat')).toMatchObject({ kind: 'kernel', seen: true });
    expect(view.placeOf('/proc/stat')).toMatchObject({ kind: 'kernel', seen: false });
  });
});

describe('what is below a folder and not to be had from the engine', () => {
  it("is nothing but the kernel's in a usual container", () => {
    expect(kindsBelow(viewOf(), '/')).toEqual(['/proc kernel']);
    expect(kindsBelow(viewOf(), '/data')).toEqual([]);
  });

  it('is the topmost of what the container has mounted itself', () => {
    const own = [
      '20 15 0:30 / /data/a tmpfs',
      '21 20 0:31 / /data/a/b tmpfs',
      '22 15 0:32 / /data/a-b tmpfs',
      '23 12 0:33 / /dev/own tmpfs',
    ];
    expect(kindsBelow(viewOf(own), '/data')).toEqual(['/data/a container', '/data/a-b container']);
    expect(kindsBelow(viewOf(own), '/data/a')).toEqual(['/data/a/b container']);
    expect(kindsBelow(viewOf(own), '/')).toEqual([
      '/data/a container',
      '/data/a-b container',
      '/dev/own container',
      '/proc kernel',
    ]);
  });
});

describe('paths without links', () => {
  it('are mount points and what leads to them', () => {
    const view = viewOf(['20 10 0:30 / /a/b/c tmpfs']);
    expect(['/', '/a', '/a/b', '/a/b/c', '/a/b/c/d', '/ab'].map(view.hasNoLinks)).toEqual([true, true, true, true, false, false]);
  });
});

describe('a container without a process', () => {
  it('has what the engine sees, but nothing of the kernel and of its memory', () => {
    const view = createStoppedView([...mounts, { destination: '/dev/shm', source: '/pods/mem' }], ['/cache']);
    const kinds = ['/', '/data/a', '/dev/shm/a', '/dev/x', '/proc/version', '/sys', '/cache/x'].map(
      (path) => view.placeOf(path).kind,
    );
    expect(kinds).toEqual(['engine', 'engine', 'engine', 'container', 'container', 'container', 'container']);
    expect([view.running, view.below('/')]).toEqual([false, []]);
  });
});

describe('a container whose mounts cannot be read', () => {
  it("is left to programs in it, and the kernel's folders stay apart", () => {
    const view = createUnknownView('no such process');
    expect(['/', '/data', '/proc/version', '/sys/x'].map((path) => view.placeOf(path).kind)).toEqual([
      'container',
      'container',
      'kernel',
      'kernel',
    ]);
    expect(kindsBelow(view, '/')).toEqual(['/proc kernel', '/sys kernel']);
    expect(view).toMatchObject({ running: true, unknown: 'no such process' });
  });
});
