import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConfigMap, Secret, Volume } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { writeAtomically } from './atomic-files.ts';
import { createMounts, type Mounts } from './mounts.ts';
import { computeVolumePlan, type VolumeInput } from './volume-plan.ts';
import { createVolumes } from './volumes.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-volumes-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const configMaps = new Map<string, ConfigMap>([
  ['settings', { data: { color: 'blue', size: 'big' }, binaryData: { logo: Buffer.from([0, 1, 255]) } }],
]);
const secrets = new Map<string, Secret>([['keys', { data: { password: Buffer.from('s3cret') } }]]);

const limited = { name: 'main', resources: { limits: { cpu: { string: '1500m' }, memory: { string: '32Mi' } } } };

function input(...volumes: Volume[]): VolumeInput {
  const owner = pod('p')
    .uid('u1')
    .labels({ app: 'web' })
    .annotations({ note: 'a "b"\n' })
    .spec({ volumes, containers: [limited] });
  const allocatable = { cpuMilli: 2_000, memoryBytes: 64 * 1024 * 1024 };
  return { podDir: join(folder, 'u1'), pod: owner.build(), configMaps, secrets, claims: new Map(), node: undefined, allocatable };
}
const configMap = (source: object = {}): Volume => ({
  name: 'v',
  volumeSource: { configMap: { localObjectReference: { name: 'settings' }, ...source } },
});

/** Mounts that only remember. */
function fakeMounts(initial: string[] = []): Mounts & { readonly mounted: string[]; readonly log: string[]; stuck: boolean } {
  const mounted = [...initial];
  const log: string[] = [];
  const fake = {
    mounted,
    log,
    stuck: false,
    list: async () => [...mounted],
    async mountTmpfs(path: string, sizeBytes: number | undefined) {
      mounted.push(path);
      log.push(`mount ${path.slice(folder.length)} ${sizeBytes ?? ''}`.trim());
    },
    async bind(_source: string, target: string) {
      mounted.push(target);
      log.push(`bind ${target.slice(folder.length)}`);
    },
    async unmount(path: string) {
      log.push(`unmount ${path.slice(folder.length)}`);
      if (!fake.stuck) mounted.splice(mounted.indexOf(path), 1);
    },
  };
  return fake;
}

describe('the plan of volumes', () => {
  it('makes every key a file, of text and of bytes, with the default mode', () => {
    const { steps } = computeVolumePlan(input(configMap({ defaultMode: 0o400 })));
    expect(steps).toEqual([
      {
        kind: 'files',
        name: 'v',
        path: join(folder, 'u1/volumes/configMap/v'),
        readOnly: true,
        inMemory: false,
        files: [
          { path: 'color', data: Buffer.from('blue'), mode: 0o400 },
          { path: 'size', data: Buffer.from('big'), mode: 0o400 },
          { path: 'logo', data: Buffer.from([0, 1, 255]), mode: 0o400 },
        ],
      },
    ]);
  });

  it('takes only the items that are named, each with its own path and mode', () => {
    const { steps } = computeVolumePlan(input(configMap({ items: [{ key: 'color', path: 'etc/color.txt', mode: 0o600 }] })));
    expect(steps[0]).toMatchObject({ files: [{ path: 'etc/color.txt', mode: 0o600 }] });
  });

  it.each(['/etc/passwd', '../up', 'a/../../b', '..data', './..data', '.', 'a\0b', 'x'.repeat(256), 'x/'.repeat(2_100), ''])(
    'refuses the item path %j',
    (path) => {
      const plan = computeVolumePlan(input(configMap({ items: [{ key: 'color', path }] })));
      expect(plan.steps).toEqual([]);
      expect(plan.problems).toMatchObject([{ volume: 'v', reason: 'invalid' }]);
    },
  );

  it.each(['../v', 'a/b', '..', ''])('refuses the volume name %j', (name) => {
    expect(computeVolumePlan(input({ name, volumeSource: { emptyDir: {} } })).problems).toMatchObject([{ reason: 'invalid' }]);
  });

  it('waits for an object or key that does not exist, unless it is optional', () => {
    const missing: Volume = { name: 'v', volumeSource: { secret: { secretName: 'none' } } };
    expect(computeVolumePlan(input(missing)).problems).toEqual([
      {
        volume: 'v',
        reason: 'not-found',
        message: 'volume "v": secret "none" does not exist',
        madeAt: join(folder, 'u1/volumes/secret/v'),
      },
    ]);
    expect(computeVolumePlan(input(configMap({ items: [{ key: 'nope', path: 'x' }] }))).problems).toMatchObject([
      { reason: 'not-found' },
    ]);
    const optional: Volume = { name: 'v', volumeSource: { secret: { secretName: 'none', optional: true } } };
    expect(computeVolumePlan(input(optional))).toMatchObject({ problems: [], steps: [{ files: [] }] });
  });

  it('keeps memory and its limit, host paths and their types; names what it cannot do without losing the rest', () => {
    const plan = computeVolumePlan(
      input(
        { name: 'm', volumeSource: { emptyDir: { medium: 'Memory', sizeLimit: { string: '16Mi' } } } },
        { name: 'h', volumeSource: { hostPath: { path: '/srv', type: 'Directory' } } },
        { name: 'n', volumeSource: { nfs: {} } },
      ),
    );
    expect(plan.steps).toMatchObject([
      { kind: 'memory', sizeBytes: 16 * 1024 * 1024 },
      { kind: 'host-path', path: '/srv', type: 'Directory' },
    ]);
    expect(plan.problems).toEqual([{ volume: 'n', reason: 'unsupported', message: 'volume "n": nfs source is not supported' }]);
  });
});

describe('files written at once', () => {
  const file = (path: string, text: string, mode = 0o644) => ({ path, data: Buffer.from(text), mode });
  const read = (path: string) => readFileSync(join(folder, path), 'utf8');

  it('are seen through one link that an update swings over', async () => {
    expect(await writeAtomically(folder, [file('a', '1'), file('dir/b', '2', 0o600)])).toBe(true);
    expect([read('a'), read('dir/b')]).toEqual(['1', '2']);
    expect(readlinkSync(join(folder, 'a'))).toBe('..data/a');
    expect(statSync(join(folder, 'dir/b')).mode & 0o777).toBe(0o600);
    const before = readlinkSync(join(folder, '..data'));
    expect(await writeAtomically(folder, [file('a', 'new'), file('c', '3')])).toBe(true);
    expect(readdirSync(folder).sort()).toEqual([readlinkSync(join(folder, '..data')), '..data', 'a', 'c'].sort());
    expect(readlinkSync(join(folder, '..data'))).not.toBe(before);
    expect([read('a'), read('c')]).toEqual(['new', '3']);
  });

  it('are left alone when nothing has changed', async () => {
    await writeAtomically(folder, [file('a', '1')]);
    const before = readlinkSync(join(folder, '..data'));
    expect(await writeAtomically(folder, [file('a', '1')])).toBe(false);
    expect(readlinkSync(join(folder, '..data'))).toBe(before);
    expect(await writeAtomically(folder, [file('a', '1', 0o600)])).toBe(true);
  });

  it('get over what an interrupted write has left', async () => {
    mkdirSync(join(folder, '..0011'));
    symlinkSync('..0011', join(folder, '..data_next'));
    await writeAtomically(folder, [file('a', '1')]);
    expect(readdirSync(folder).sort()).toEqual([readlinkSync(join(folder, '..data')), '..data', 'a'].sort());
  });

  it('are all shown after a write that was interrupted between the swing and the names', async () => {
    await writeAtomically(folder, [file('a', '1'), file('b', '2')]);
    unlinkSync(join(folder, 'b'));
    symlinkSync('..data/gone', join(folder, 'gone'));
    mkdirSync(join(folder, '..0011'));
    expect(await writeAtomically(folder, [file('a', '1'), file('b', '2')])).toBe(false);
    expect(readdirSync(folder).sort()).toEqual([readlinkSync(join(folder, '..data')), '..data', 'a', 'b'].sort());
    expect(read('b')).toBe('2');
  });

  it('that cannot be written leave nothing behind, however often they are tried', async () => {
    await writeAtomically(folder, [file('a', '1')]);
    const before = readdirSync(folder).sort();
    const full = () => Promise.reject(new Error('no space left'));
    for (const text of ['2', '3'])
      await expect(writeAtomically(folder, [file('a', text)], full)).rejects.toThrow('no space left');
    expect(readdirSync(folder).sort()).toEqual(before);
    expect(read('a')).toBe('1');
  });
});

describe('volumes', () => {
  it('are made with their data, secrets and memory in a tmpfs that is mounted once', async () => {
    const mounts = fakeMounts();
    const volumes = createVolumes(folder, { mounts, canMount: true });
    const wanted = input(
      { name: 'e', volumeSource: { emptyDir: {} } },
      { name: 'm', volumeSource: { emptyDir: { medium: 'Memory', sizeLimit: { string: '1Mi' } } } },
      { name: 's', volumeSource: { secret: { secretName: 'keys' } } },
      configMap(),
    );
    await volumes.ensureVolumes(wanted);
    const ready = await volumes.ensureVolumes(wanted);
    expect(ready.problems).toEqual([]);
    expect([...ready.volumes].map(([name, { readOnly }]) => `${name} ${readOnly}`)).toEqual([
      'e false',
      'm false',
      's true',
      'v true',
    ]);
    expect(mounts.log).toEqual(['mount /u1/volumes/emptyDir/m 1048576', 'mount /u1/volumes/secret/s']);
    expect(readFileSync(join(ready.volumes.get('s')?.hostPath ?? '', 'password'), 'utf8')).toBe('s3cret');
    expect(statSync(ready.volumes.get('e')?.hostPath ?? '').mode & 0o777).toBe(0o777);
    expect(statSync(join(folder, 'u1')).mode & 0o007).toBe(0);
  });

  it('go on as they were when the object is deleted that they show, and are not there for a pod that never had it', async () => {
    const volumes = createVolumes(folder, { mounts: fakeMounts(), canMount: true });
    const wanted = input(configMap(), { name: 'w', volumeSource: { secret: { secretName: 'keys' } } });
    const { volumes: before } = await volumes.ensureVolumes(wanted);
    const deleted = { ...wanted, configMaps: new Map(), secrets: new Map() };
    expect(await volumes.ensureVolumes(deleted)).toEqual({ volumes: before, problems: [] });
    expect(readFileSync(join(before.get('v')!.hostPath, 'color'), 'utf8')).toBe('blue');
    const other = await volumes.ensureVolumes({ ...deleted, podDir: join(folder, 'u2') });
    expect(other.problems.map(({ volume, reason }) => `${volume} ${reason}`)).toEqual(['v not-found', 'w not-found']);
  });

  it('create a host path where its type says so, and refuse one that is something else', async () => {
    const volumes = createVolumes(folder, { canMount: false });
    const at = (name: string, type: string): Volume => ({ name, volumeSource: { hostPath: { path: join(folder, name), type } } });
    writeFileSync(join(folder, 'file'), '');
    const ready = await volumes.ensureVolumes(
      input(
        at('new', 'DirectoryOrCreate'),
        at('file', 'Directory'),
        at('none', 'File'),
        at('made', 'FileOrCreate'),
        at('free', ''),
      ),
    );
    expect(ready.problems.map(({ message }) => message.replaceAll(folder, ''))).toEqual([
      'volume "file": host path /file is not a directory',
      'volume "none": host path /none does not exist',
    ]);
    expect(statSync(join(folder, 'made')).isFile()).toBe(true);
    expect(statSync(join(folder, 'new')).isDirectory()).toBe(true);
    expect([...ready.volumes.keys()]).toEqual(['new', 'made', 'free']);
  });

  it('are removed without reaching through links, the innermost mount first', async () => {
    const outside = join(folder, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'precious'), '');
    const pod = join(folder, 'pods/u1');
    mkdirSync(join(pod, 'volumes/emptyDir/e'), { recursive: true });
    symlinkSync(outside, join(pod, 'volumes/emptyDir/e/link'));
    const mounts = fakeMounts([`${pod}/a`, `${pod}/a/b`, `${folder}/pods/u10/a`]);
    const volumes = createVolumes(join(folder, 'pods'), { mounts });
    expect(await volumes.listPods()).toEqual(['u1']);
    await volumes.removePodVolumes('u1');
    await volumes.removePodVolumes('u1');
    expect(mounts.log).toEqual(['unmount /pods/u1/a/b', 'unmount /pods/u1/a']);
    expect(await volumes.listPods()).toEqual([]);
    expect(readdirSync(outside)).toEqual(['precious']);
  });

  it('are removed with folders that containers nested deeper than a path may be long', async () => {
    const made = join(folder, 'u1/volumes/emptyDir/e');
    mkdirSync(made, { recursive: true });
    const nest = 'n=$(printf "%0250d" 0); for i in $(seq 20); do mkdir $n; cd -P ./$n; done';
    execFileSync('sh', ['-ec', nest], { cwd: made });
    await createVolumes(folder, { mounts: fakeMounts() }).removePodVolumes('u1');
    expect(readdirSync(folder)).not.toContain('u1');
  });

  it('of a pod that has ended go, and what else is kept of it stays', async () => {
    const pod = join(folder, 'u1');
    for (const part of ['volumes/emptyDir/e', 'containers/main']) mkdirSync(join(pod, part), { recursive: true });
    await createVolumes(folder, { mounts: fakeMounts() }).releasePodVolumes('u1');
    expect(readdirSync(pod)).toEqual(['containers']);
  });

  it('stay when a mount cannot be undone, so that nothing behind it is deleted', async () => {
    const pod = join(folder, 'u1');
    mkdirSync(join(pod, 'a'), { recursive: true });
    const mounts = fakeMounts([join(pod, 'a')]);
    mounts.stuck = true;
    await expect(createVolumes(folder, { mounts }).removePodVolumes('u1')).rejects.toThrow('still mounted');
    expect(readdirSync(pod)).toEqual(['a']);
    await expect(createVolumes(folder, { mounts }).removePodVolumes('../x')).rejects.toThrow('not a name');
  });
});

describe('mounts', () => {
  it.runIf(process.getuid?.() === 0)('of memory are really there, of the size asked for, and go again', async (context) => {
    const mounts = createMounts();
    try {
      await mounts.mountTmpfs(folder, 1024 * 1024);
    } catch {
      return context.skip();
    }
    expect(await mounts.list()).toContain(folder);
    expect(statSync(folder).mode & 0o7777).toBe(0o1777);
    expect(() => writeFileSync(join(folder, 'big'), Buffer.alloc(2 * 1024 * 1024))).toThrow('ENOSPC');
    await mounts.unmount(folder);
    expect(await mounts.list()).not.toContain(folder);
  });
});
