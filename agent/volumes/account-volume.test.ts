import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Volume, VolumeProjection } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { tokenKey } from '../config/account-tokens.ts';
import { accountVolumes } from './account-volume.ts';
import { createMounts, type Mounts, unmountBelow } from './mounts.ts';
import type { VolumeInput } from './volume-plan.ts';
import { createVolumes } from './volumes.ts';

const token = { path: 'token', expirationSeconds: 3_607 };
const root: VolumeProjection = {
  configMap: { localObjectReference: { name: 'kube-root-ca.crt' }, items: [{ key: 'ca.crt', path: 'ca.crt' }] },
};
const field = (fieldPath: string): VolumeProjection => ({ downwardAPI: { items: [{ path: 'f', fieldRef: { fieldPath } }] } });
const usual: VolumeProjection[] = [{ serviceAccountToken: token }, root, field('metadata.namespace')];
const projected = (name: string, sources: VolumeProjection[] = usual): Volume => ({
  name,
  volumeSource: { projected: { defaultMode: 0o644, sources } },
});
const namesOf = (...volumes: Volume[]) => [...accountVolumes(pod('p').spec({ volumes, containers: [] }).build())];

describe('the volumes that live in the memory of all pods', () => {
  it.each<[string, VolumeProjection[], boolean]>([
    ['what every pod gets for its account', usual, true],
    ['a token alone', [{ serviceAccountToken: token }], true],
    ['no token', [root, field('metadata.namespace')], false],
    ['another ConfigMap', [...usual, { configMap: { localObjectReference: { name: 'big' } } }], false],
    ['a Secret', [...usual, { secret: { localObjectReference: { name: 'keys' } } }], false],
    ['annotations, which may be large', [...usual, field('metadata.annotations')], false],
  ])('with %s are shared or not by what may grow', (_, sources, isShared) =>
    expect(namesOf(projected('v', sources))).toEqual(isShared ? ['v'] : []),
  );

  it('are two of a pod at most', () =>
    expect(namesOf(projected('a'), { name: 'e', volumeSource: { emptyDir: {} } }, projected('b'), projected('c'))).toEqual([
      'a',
      'b',
    ]));
});

describe('a volume in the memory of all pods', () => {
  let folder: string;
  let mounted: string[];
  let log: string[];
  let warned: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-account-volume-'));
    [mounted, log, warned] = [[], [], []];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const mounts: Mounts = {
    list: async () => [...mounted],
    async mountTmpfs(path, sizeBytes) {
      mounted.push(path);
      log.push(`mount ${path.slice(folder.length)} ${sizeBytes ?? ''}`.trim());
    },
    bind: async () => {},
    async unmount(path) {
      log.push(`unmount ${path.slice(folder.length)}`);
      mounted.splice(mounted.indexOf(path), 1);
    },
  };
  const open = () => createVolumes(join(folder, 'pods'), { mounts, canMount: true, warn: (message) => warned.push(message) });
  const shared = (uid: string) => join(folder, 'memory', uid, 'v');
  const own = (uid: string) => join(folder, 'pods', uid, 'volumes/projected/v');

  function inputFor(uid: string, text = 'one', { fsGroup, ca = 'CA' }: { fsGroup?: number; ca?: string } = {}): VolumeInput {
    const builder = pod('p')
      .uid(uid)
      .spec({
        ...{ volumes: [projected('v')], containers: [{ name: 'main' }] },
        ...(fsGroup !== undefined && { securityContext: { fsGroup } }),
      });
    return {
      ...{ podDir: join(folder, 'pods', uid), sharedDir: join(folder, 'memory', uid), pod: builder.build() },
      configMaps: new Map([['kube-root-ca.crt', { data: { 'ca.crt': ca } }]]),
      ...{ secrets: new Map(), claims: new Map(), node: undefined, allocatable: { cpuMilli: 1, memoryBytes: 1e9 } },
      tokens: new Map([[tokenKey(token), { token: text }]]),
      ownership: fsGroup === undefined ? undefined : { gid: fsGroup, onRootMismatch: false },
    };
  }
  const pathIn = async (volumes: ReturnType<typeof open>, input: VolumeInput) => {
    const { problems, volumes: ready } = await volumes.ensureVolumes(input);
    return problems[0]?.message ?? ready.get('v')?.hostPath;
  };

  it('is in a folder of the pod, in one file system for all, which has a bound', async () => {
    const volumes = open();
    for (const uid of ['u1', 'u2']) {
      expect(await pathIn(volumes, inputFor(uid))).toBe(shared(uid));
      expect(readFileSync(join(shared(uid), 'token'), 'utf8')).toBe('one');
      expect(readFileSync(join(shared(uid), 'ca.crt'), 'utf8')).toBe('CA');
    }
    expect(await pathIn(open(), inputFor('u3'))).toBe(shared('u3'));
    expect(log).toEqual([`mount /memory ${64 * 1024 * 1024}`]);
    expect(statSync(join(folder, 'memory')).mode & 0o777).toBe(0o700);
  });

  it('shows another token when that is due, in all old or all new files', async () => {
    const volumes = open();
    await volumes.ensureVolumes(inputFor('u1'));
    await volumes.refreshVolumes(inputFor('u1', 'two'));
    expect(readFileSync(join(shared('u1'), 'token'), 'utf8')).toBe('two');
    expect(readdirSync(shared('u1')).filter((name) => /^\.\.[0-9a-f]+$/.test(name))).toHaveLength(1);
  });

  it.runIf(process.getuid?.() === 0)('belongs to the group of the pod, which may read it', async () => {
    await open().ensureVolumes(inputFor('u1', 'one', { fsGroup: 2_000 }));
    const { gid, mode } = statSync(join(shared('u1'), 'token'));
    expect([gid, mode & 0o777]).toEqual([2_000, 0o640]);
  });

  it('goes with its pod, also one that only an agent of before knew', async () => {
    const volumes = open();
    await volumes.ensureVolumes(inputFor('u1'));
    await volumes.ensureVolumes(inputFor('u2'));
    await volumes.releasePodVolumes('u1');
    expect(readdirSync(join(folder, 'memory'))).toEqual(['u2']);
    expect(await open().listPods()).toEqual(['u2']);
    await open().removePodVolumes('u2');
    expect(readdirSync(join(folder, 'memory'))).toEqual([]);
    expect(log.filter((line) => line.startsWith('unmount'))).toEqual([]);
    expect(await pathIn(volumes, inputFor('u1'))).toBe(shared('u1'));
    expect(readFileSync(join(shared('u1'), 'token'), 'utf8')).toBe('one');
  });

  it('stays where an agent of the version before has made it, as its containers see it there', async () => {
    await open().ensureVolumes({ ...inputFor('u1'), sharedDir: undefined });
    const volumes = open();
    expect(await pathIn(volumes, inputFor('u1', 'two'))).toBe(own('u1'));
    expect(readFileSync(join(own('u1'), 'token'), 'utf8')).toBe('two');
    expect(await pathIn(volumes, { ...inputFor('u1'), tokens: new Map() })).toBe(own('u1'));
  });

  it('goes on as it is while there is no token', async () => {
    const volumes = open();
    await volumes.ensureVolumes(inputFor('u1'));
    expect(await pathIn(volumes, { ...inputFor('u1'), tokens: new Map() })).toBe(shared('u1'));
    expect(await pathIn(volumes, { ...inputFor('u2'), tokens: new Map() })).toContain('there is no token');
  });

  it('is refused above its size, so that no pod uses up what all share', async () => {
    const ca = 'x'.repeat(65_536);
    expect(await pathIn(open(), inputFor('u1', 'one', { ca }))).toContain('its files take 73728 bytes, more than the 65536');
    const volumes = open();
    await volumes.ensureVolumes(inputFor('u1'));
    await volumes.refreshVolumes(inputFor('u1', 'two', { ca }));
    expect(readFileSync(join(shared('u1'), 'ca.crt'), 'utf8')).toBe('CA');
  });

  it.runIf(process.getuid?.() === 0)('gets memory of its own where there is no room, and stays there', async (context) => {
    const real = createMounts();
    const small: Mounts = {
      ...real,
      mountTmpfs: (path, sizeBytes) => real.mountTmpfs(path, path === join(folder, 'memory') ? 16 * 1024 : sizeBytes),
    };
    const volumes = createVolumes(join(folder, 'pods'), { mounts: small, canMount: true, warn: (text) => warned.push(text) });
    try {
      expect(await pathIn(volumes, inputFor('u1'))).toBe(shared('u1'));
      if (!(await real.list()).includes(join(folder, 'memory'))) return context.skip();
      expect(await pathIn(volumes, inputFor('u2'))).toBe(own('u2'));
      expect(readFileSync(join(own('u2'), 'token'), 'utf8')).toBe('one');
      expect(warned).toEqual([expect.stringContaining('no room')]);
      await volumes.removePodVolumes('u1');
      expect(await pathIn(volumes, inputFor('u2', 'two'))).toBe(own('u2'));
      expect(readFileSync(join(own('u2'), 'token'), 'utf8')).toBe('two');
    } finally {
      await unmountBelow(real, folder);
    }
  });
});
