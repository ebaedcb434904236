import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import {
  conditionOf,
  configMap,
  containerOf,
  createPodHouse,
  type PodHouse,
  podOf,
  script,
  secret,
  stay,
} from './pods-fixture.ts';

// Parts of volumes, volumes made of several sources, limits, and storage that outlives pods.
let house: PodHouse;
let hostDir: string;
beforeAll(async () => {
  hostDir = mkdtempSync(join(tmpdir(), 'berth-e2e-storage-'));
  for (const name of ['local', 'shared']) mkdirSync(join(hostDir, name));
  execFileSync('mount', ['--bind', join(hostDir, 'shared'), join(hostDir, 'shared')]);
  execFileSync('mount', ['--make-shared', join(hostDir, 'shared')]);
  house = await createPodHouse('storage');
  await house.apply(configMap('settings', { one: 'first', two: 'second' }), secret('keys', { token: 'hush' }), ...storage());
  await house.apply(
    manyFields(),
    evil(),
    fat(),
    hog(),
    propagates(),
    claiming('keeps', 'data'),
    claiming('waits', 'late'),
    claiming('far', 'elsewhere'),
    claiming('sole', 'single'),
    claiming('writes', 'many'),
    claiming('reads', 'many', true),
  );
});
afterAll(async () => {
  await house?.berth.purge();
  execFileSync('umount', ['-R', join(hostDir, 'shared')]);
  rmSync(hostDir, { recursive: true, force: true });
});

const podDir = (uid: string) => join(house.berth.dataDir, 'node', house.berth.nodeName, 'pods', uid);
const mountsOf = (uid: string) =>
  readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(uid));

/** Most of what a mount can ask for, in one pod. */
function manyFields(): object {
  const limits = { cpu: '500m', memory: '64Mi' };
  const volumes = [
    { name: 'data', emptyDir: {} },
    { name: 'conf', configMap: { name: 'settings' } },
    {
      name: 'own',
      downwardAPI: {
        items: [
          { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
          {
            path: 'deep/memory',
            resourceFieldRef: { containerName: 'main', resource: 'limits.memory', divisor: '1Mi' },
            mode: 0o400,
          },
        ],
      },
    },
    {
      name: 'all',
      projected: {
        defaultMode: 0o440,
        sources: [
          { configMap: { name: 'settings', items: [{ key: 'one', path: 'maps/one' }] } },
          { secret: { name: 'keys' } },
          { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
        ],
      },
    },
  ];
  const volumeMounts = [
    { name: 'data', mountPath: '/whole' },
    { name: 'data', mountPath: '/part', subPath: 'a/b' },
    { name: 'data', mountPath: '/named', subPathExpr: 'of/$(POD_NAME)' },
    { name: 'conf', mountPath: '/etc/one.conf', subPath: 'one' },
    { name: 'own', mountPath: '/own' },
    { name: 'all', mountPath: '/all' },
  ];
  const env = [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
  const container = script(stay, { volumeMounts, env, resources: { limits } });
  return podOf('fields', [container], { volumes }, { labels: { app: 'web', tier: 'front' } });
}

/** Its first container prepares a link to the machine's own files; the second asks for what is behind it. */
function evil(): object {
  const mount = (subPath?: string) => [{ name: 'data', mountPath: '/data', ...(subPath && { subPath }) }];
  const prepare = script('ln -s /etc /data/link; ln -s ../../../../.. /data/up', { name: 'prepare', volumeMounts: mount() });
  return podOf(
    'evil',
    [script(stay, { volumeMounts: mount('link/passwd') }), script(stay, { name: 'up', volumeMounts: mount('up/etc') })],
    {
      initContainers: [prepare],
      volumes: [{ name: 'data', emptyDir: {} }],
    },
  );
}

function fat(): object {
  const volumeMounts = [{ name: 'scratch', mountPath: '/scratch' }];
  const fill = `head -c 3000000 /dev/zero > /scratch/big; ${stay}`;
  return podOf('fat', [script(fill, { volumeMounts })], { volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1Mi' } }] });
}

function hog(): object {
  const resources = { limits: { 'ephemeral-storage': '1Mi' } };
  return podOf('hog', [script(`head -c 3000000 /dev/zero > /big; ${stay}`, { resources }), script(stay, { name: 'side' })]);
}

function propagates(): object {
  const mount = (mountPath: string, mountPropagation: string) => ({ name: 'host', mountPath, mountPropagation });
  const volumeMounts = [mount('/in', 'HostToContainer'), mount('/private', 'None')];
  const makes = { name: 'makes', securityContext: { privileged: true }, volumeMounts: [mount('/both', 'Bidirectional')] };
  return podOf('propagates', [script(stay, { volumeMounts }), script(stay, makes)], {
    volumes: [{ name: 'host', hostPath: { path: join(hostDir, 'shared'), type: 'Directory' } }],
  });
}

function claiming(name: string, claimName: string, readOnly = false): object {
  const keep = readOnly ? stay : `cat /data/file 2>/dev/null; echo ${name} >> /data/file; ${stay}`;
  return podOf(name, [script(keep, { volumeMounts: [{ name: 'data', mountPath: '/data' }] })], {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName, readOnly } }],
  });
}

const persistentVolume = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...spec },
});
const claimOn = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '500Mi' } }, ...spec },
});
const onHost = (hostname: string) => ({
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [hostname] }] }],
  },
});

/** A local volume of this node, and one of a node that is not there. */
function storage(): object[] {
  const local = { local: { path: join(hostDir, 'local') }, storageClassName: 'here', nodeAffinity: onHost(house.berth.nodeName) };
  const away = { local: { path: '/srv/away' }, storageClassName: 'away', nodeAffinity: onHost('elsewhere') };
  return [
    persistentVolume('here', local),
    persistentVolume('away', away),
    claimOn('data', { storageClassName: 'here' }),
    claimOn('elsewhere', { storageClassName: 'away' }),
    persistentVolume('single', {
      accessModes: ['ReadWriteOncePod'],
      storageClassName: 'single',
      hostPath: { path: join(hostDir, 'single'), type: 'DirectoryOrCreate' },
    }),
    persistentVolume('many', {
      accessModes: ['ReadWriteMany', 'ReadOnlyMany'],
      storageClassName: 'many',
      hostPath: { path: join(hostDir, 'many'), type: 'DirectoryOrCreate' },
    }),
    claimOn('many', { storageClassName: 'many', accessModes: ['ReadWriteMany'] }),
    claimOn('single', { storageClassName: 'single', accessModes: ['ReadWriteOncePod'] }),
  ];
}

describe('a pod', () => {
  it('mounts parts of its volumes, made where they are missing', async () => {
    await house.running('fields');
    const text = await house.sh('fields', 'echo 1 > /part/file; echo 2 > /named/file; cd /whole; find . -type f | sort');
    expect(text).toBe('./a/b/file\n./of/fields/file\n');
    expect(await house.sh('fields', 'cat /etc/one.conf; test -f /etc/one.conf && echo " file"')).toBe('first file\n');
  });

  it('finds what it is in files, beside objects in one folder', async () => {
    expect(await house.sh('fields', 'cat /own/labels; echo; cat /own/deep/memory; stat -L -c " %a" /own/deep/memory')).toBe(
      'app="web"\ntier="front"\n64 400\n',
    );
    expect(await house.sh('fields', 'cd /all; cat maps/one token name; stat -L -c " %a" token; touch x 2>&1 || true')).toMatch(
      /^firsthushfields 440\n.*Read-only/,
    );
    expect(await house.sh('fields', 'grep " /all " /proc/mounts')).toContain('tmpfs');
  });

  it('sees in its files what is changed about it, and keeps the part of an object as it was', async () => {
    await house.apply(configMap('settings', { one: 'changed', two: 'second' }));
    await house.berth.ok('label', 'pod', 'fields', 'tier=back', '--overwrite');
    await eventually('the labels are new', async () =>
      (await house.sh('fields', 'cat /own/labels')).includes('tier="back"') ? true : undefined,
    );
    await eventually('the object is new', async () =>
      (await house.sh('fields', 'cat /all/maps/one')) === 'changed' ? true : undefined,
    );
    expect(await house.sh('fields', 'cat /etc/one.conf')).toBe('first');
  });

  it('gets nothing outside of its volumes by links in them', async () => {
    const why = (name: string) => (each: Parameters<Parameters<PodHouse['until']>[2]>[0]) =>
      each.status.containerStatuses
        ?.find((status) => status.name === name)
        ?.state.waiting?.message?.includes('leads out of the volume') === true;
    await house.until('evil', 'is refused a link to a path', why('main'));
    const pod = await house.until('evil', 'is refused a link upwards', why('up'));
    expect(containerOf(pod, 'main').state.waiting?.reason).toBe('CreateContainerConfigError');
    expect(mountsOf(pod.metadata.uid)).toEqual([]);
  });

  it('whose emptyDir holds more than its sizeLimit is ended with the reason, and its files are gone', async () => {
    const pod = await house.until('fat', 'is evicted', ({ status }) => status.phase === 'Failed');
    expect(pod.status).toMatchObject({
      reason: 'Evicted',
      message: 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi".',
    });
    expect(conditionOf(pod, 'DisruptionTarget')).toMatchObject({ status: 'True', reason: 'TerminationByKubelet' });
    await eventually('its files are gone', async () =>
      existsSync(join(podDir(pod.metadata.uid), 'volumes')) ? undefined : true,
    );
    expect(await house.events('fat')).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'Evicted' }));
  });

  it('whose container writes more than its limit of ephemeral-storage is ended with the reason, the limit and what it uses', async () => {
    const pod = await house.until('hog', 'is evicted', ({ status }) => status.phase === 'Failed');
    expect(pod.status).toMatchObject({
      reason: 'Evicted',
      message: expect.stringMatching(
        /^Pod ephemeral local storage usage exceeds the total limit of containers 1Mi\. It uses (29|30)\d\dKi\.$/,
      ),
    });
    expect(conditionOf(pod, 'DisruptionTarget')).toMatchObject({ status: 'True', reason: 'TerminationByKubelet' });
  });

  it('has a bound of processes for each of its containers', async () => {
    await house.running('propagates');
    const read = 'cat /sys/fs/cgroup/pids/pids.max 2>/dev/null || cat /sys/fs/cgroup/pids.max';
    expect((await house.sh('propagates', read, 'main')).trim()).toBe('4096');
  });

  it('sees later mounts of the machine where it asks for that, and shows it its own', async () => {
    await house.running('propagates');
    const late = join(hostDir, 'shared/late');
    mkdirSync(late);
    execFileSync('mount', ['-t', 'tmpfs', 'berth-e2e', late]);
    writeFileSync(join(late, 'file'), 'here');
    expect(await house.sh('propagates', 'cat /in/late/file; ls /private/late', 'main')).toBe('here');
    await house.sh('propagates', 'mkdir /both/made; mount -t tmpfs x /both/made; echo theirs > /both/made/file', 'makes');
    expect(readFileSync(join(hostDir, 'shared/made/file'), 'utf8')).toBe('theirs\n');
    expect(await house.sh('propagates', 'cat /in/made/file; ls /private/made', 'main')).toBe('theirs\n');
  });

  it('leaves no mount behind, also when the agent dies in between', async () => {
    const { metadata } = await house.pod('fields');
    expect(mountsOf(metadata.uid).length).toBeGreaterThan(3);
    process.kill(house.berth.pid('agent'), 'SIGKILL');
    await house.berth.ok('delete', 'pod', 'fields');
    expect(mountsOf(metadata.uid)).toEqual([]);
    expect(existsSync(podDir(metadata.uid))).toBe(false);
  });
});

describe('a claim', () => {
  it('is bound to a volume, as tables show', async () => {
    await house.running('keeps');
    expect(await house.berth.ok('get', 'pvc', 'data', '--no-headers')).toMatch(/^data +Bound +here +1Gi +RWO +here +<unset> /);
    expect(await house.berth.ok('get', 'pv', 'here', '--no-headers')).toMatch(
      /^here +1Gi +RWO +Retain +Bound +default\/data +here +<unset> /,
    );
    expect(readFileSync(join(hostDir, 'local/file'), 'utf8')).toBe('keeps\n');
  });

  it('keeps its pod from nodes that do not reach its volume, with the reason', async () => {
    const pod = await house.until('far', 'is told why', (each) => conditionOf(each, 'PodScheduled')?.status === 'False');
    expect(conditionOf(pod, 'PodScheduled')?.message).toContain('1 node(s) had volume node affinity conflict');
  });

  it('keeps its pod waiting until it exists and is bound', async () => {
    const waitsFor = (reason: string) =>
      house.until('waits', `waits: ${reason}`, (each) => conditionOf(each, 'PodScheduled')?.message?.includes(reason) === true);
    await waitsFor('persistentvolumeclaim "late" not found');
    await house.apply(claimOn('late', { storageClassName: '' }));
    await waitsFor('pod has unbound immediate PersistentVolumeClaims');
    await house.apply(persistentVolume('late', { hostPath: { path: join(hostDir, 'late'), type: 'DirectoryOrCreate' } }));
    await house.running('waits');
    await eventually('the file is there', async () => (existsSync(join(hostDir, 'late/file')) ? true : undefined));
  });

  it('that is for many is used by several pods at once, by one of them only to read', async () => {
    await Promise.all(['writes', 'reads'].map(house.running));
    await eventually('one reads what the other has written', async () =>
      (await house.sh('reads', 'cat /data/file')) === 'writes\n' ? true : undefined,
    );
    expect(await house.sh('reads', 'touch /data/x 2>&1 || true')).toContain('Read-only file system');
    expect(await house.berth.ok('get', 'pv', 'many', '--no-headers')).toMatch(
      /^many +1Gi +ROX,RWX +Retain +Bound +default\/many /,
    );
    expect(await house.berth.ok('get', 'pvc', 'many', '--no-headers')).toMatch(/^many +Bound +many +1Gi +ROX,RWX /);
  });

  it('that is for one pod keeps others waiting, also one that names its node itself, until that pod is gone', async () => {
    await house.running('sole');
    const here = claiming('forced', 'single') as { spec: object };
    await house.apply(claiming('next', 'single'), { ...here, spec: { ...here.spec, nodeName: house.berth.nodeName } });
    const next = await house.until('next', 'waits', (each) => conditionOf(each, 'PodScheduled')?.status === 'False');
    expect(conditionOf(next, 'PodScheduled')?.message).toContain('ReadWriteOncePod');
    await eventually('the event is there', async () =>
      (await house.events('forced')).some((each) => each.reason === 'FailedMount' && each.message.includes('pod "sole" uses it'))
        ? true
        : undefined,
    );
    await house.berth.ok('delete', 'pod', 'sole', 'next');
    await house.running('forced');
    expect(readFileSync(join(hostDir, 'single/file'), 'utf8')).toBe('sole\nforced\n');
  });

  it('does not go while a pod uses it, and its data are there for the next pod, the next agent, and after the last', async () => {
    await house.berth.ok('delete', 'pod', 'keeps');
    await house.apply(claiming('again', 'data'));
    const { uid } = (await house.running('again')).metadata;
    expect(await house.berth.ok('logs', 'again')).toBe('keeps\n');
    process.kill(house.berth.pid('agent'), 'SIGKILL');
    await eventually('the agent serves again', async () =>
      (await house.sh('again', 'cat /data/file')) === 'keeps\nagain\n' ? true : undefined,
    );
    expect((await house.pod('again')).metadata.uid).toBe(uid);
    await house.berth.ok('delete', 'pvc', 'data', '--wait=false');
    expect(await house.berth.ok('get', 'pvc', 'data', '--no-headers')).toMatch(/^data +Terminating /);
    await house.berth.ok('delete', 'pod', 'again');
    await eventually('the claim is gone', async () =>
      (await house.berth.berth(['get', 'pvc', 'data'])).code !== 0 ? true : undefined,
    );
    await eventually('the volume is released', async () =>
      (await house.berth.ok('get', 'pv', 'here', '--no-headers')).includes(' Released ') ? true : undefined,
    );
    expect(readdirSync(join(hostDir, 'local'))).toEqual(['file']);
  });
});
