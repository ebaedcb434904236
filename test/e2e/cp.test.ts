import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPodHouse, image, type PodHouse } from './pods-fixture.ts';

let house: PodHouse;
let folder: string;
let onHost: string;

/**
 * File systems that only the container has: in a volume, read-only, nearly full, and one that covers a volume's folder.
 */
const mountSome = [
  'mkdir -p /small /ro /data/inner/under /data/covered',
  'echo hidden > /data/covered/file',
  'mount -t tmpfs -o size=64k small /small',
  'mount -t tmpfs ro /ro && echo kept > /ro/file && mount -o remount,ro /ro',
  'echo hidden > /data/inner/hidden',
  'mount -t tmpfs inner /data/inner && mkdir /data/inner/deep && echo inner > /data/inner/deep/file',
  'mount -t tmpfs covered /data/covered && echo covering > /data/covered/file',
  'ln -s /data/inner/deep/file /link; ln -s ../../../proc/version /data/inner/deep/version',
  'echo outside > /data/plain; touch /ready',
].join(' && ');

const container = (name: string, more: object = {}) => ({
  name,
  image,
  imagePullPolicy: 'Never',
  command: ['sh', '-c', 'exec sleep 10000'],
  ...more,
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-cp-'));
  onHost = join(folder, 'host');
  mkdirSync(onHost);
  house = await createPodHouse('cp');
  const volumeMounts = [
    { name: 'data', mountPath: '/data' },
    { name: 'conf', mountPath: '/conf' },
    { name: 'mem', mountPath: '/mem' },
    { name: 'mem', mountPath: '/data/mem', subPath: 'part' },
    { name: 'host', mountPath: '/host' },
    { name: 'conf', mountPath: '/etc/one-key', subPath: 'key' },
  ];
  await house.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'conf' }, data: { key: 'a value\n' } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          container('app', { volumeMounts, workingDir: '/tmp' }),
          container('side', { volumeMounts: [volumeMounts[0]] }),
        ],
        volumes: [
          { name: 'data', emptyDir: {} },
          { name: 'conf', configMap: { name: 'conf' } },
          { name: 'mem', emptyDir: { medium: 'Memory' } },
          { name: 'host', hostPath: { path: onHost } },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'mounts' },
      spec: {
        terminationGracePeriodSeconds: 0,
        volumes: [{ name: 'data', emptyDir: {} }],
        containers: [
          container('app', {
            command: ['sh', '-c', `${mountSome}; exec sleep 10000`],
            readinessProbe: { exec: { command: ['test', '-e', '/ready'] }, periodSeconds: 1 },
            securityContext: { privileged: true },
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          }),
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'bare' },
      spec: {
        terminationGracePeriodSeconds: 0,
        volumes: [{ name: 'mem', emptyDir: { medium: 'Memory' } }],
        containers: [
          container('app', {
            command: ['sh', '-c', 'rm /bin/tar; exec sleep 10000'],
            readinessProbe: { exec: { command: ['test', '!', '-e', '/bin/tar'] }, periodSeconds: 1 },
            volumeMounts: [{ name: 'mem', mountPath: '/mem' }],
          }),
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'ended' },
      spec: { restartPolicy: 'Never', containers: [container('app', { command: ['true'] })] },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'user' },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [container('app', { securityContext: { runAsUser: 4321, runAsGroup: 8765 } })],
      },
    },
  );
  await house.running('web');
  await house.running('user');
  await house.running('mounts');
  await house.running('bare');
  await house.until('ended', 'has ended', (pod) => pod.status.phase === 'Succeeded');
  const tree = join(folder, 'tree');
  mkdirSync(join(tree, 'sub'), { recursive: true });
  writeFileSync(join(tree, 'secret'), 'a secret\n');
  chmodSync(join(tree, 'secret'), 0o600);
  writeFileSync(join(tree, 'sub', 'run.sh'), '#!/bin/sh\necho it runs\n');
  chmodSync(join(tree, 'sub', 'run.sh'), 0o755);
  symlinkSync('../secret', join(tree, 'sub', 'link'));
  writeFileSync(join(tree, 'a name with spaces, ümlauts and "quotes"'), '');
  writeFileSync(join(folder, 'big'), Buffer.alloc(20_000_000, 'not much in it '));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await house?.berth.purge();
});

/** Sees files of a container without the commands that are tested. */
const cat = (pod: string, path: string): Promise<string> => house.sh(pod, `cat ${path}`, 'app');
const cp = async (...args: string[]): Promise<string> => {
  const { code, stderr } = await house.berth.berth(['cp', '-c', 'app', ...args]);
  if (code !== 0) throw new Error(`berth cp ${args.join(' ')}: ${stderr}`);
  return stderr;
};
const refused = async (...args: string[]): Promise<string> => {
  const { code, stderr } = await house.berth.berth(['cp', '-c', 'app', ...args]);
  expect(code).toBe(1);
  return stderr;
};

describe('cp into a container', () => {
  it('brings a folder with its permissions and links into a volume, where the other container sees it', async () => {
    await cp(join(folder, 'tree'), 'web:/data');
    expect(await house.sh('web', 'cat /data/tree/sub/link; /data/tree/sub/run.sh', 'side')).toBe('a secret\nit runs\n');
    expect(await house.sh('web', 'cd /data/tree; stat -c "%a %F" secret sub/run.sh sub/link', 'app')).toBe(
      '600 regular file\n755 regular file\n777 symbolic link\n',
    );
    expect(await house.sh('web', 'cd /data/tree; printf "%s\\n" *', 'app')).toContain(
      'a name with spaces, ümlauts and "quotes"\n',
    );
  });

  it('names it as asked when there is nothing of the name', async () => {
    await cp(join(folder, 'tree'), 'web:/data/copy');
    await cp(join(folder, 'tree', 'secret'), 'web:/data/renamed');
    expect(await house.sh('web', 'cat /data/copy/secret /data/renamed', 'app')).toBe('a secret\na secret\n');
  });

  it('takes a path that is not absolute from the working directory', async () => {
    await cp(join(folder, 'tree', 'secret'), 'web:here');
    expect(await house.sh('web', 'cat /tmp/here', 'app')).toBe('a secret\n');
  });

  it('gives files to the user of the container, and with --no-preserve the usual permissions', async () => {
    await cp(join(folder, 'tree', 'secret'), 'user:/tmp/mine');
    expect(await house.sh('user', 'stat -c "%u %g %a" /tmp/mine')).toBe('4321 8765 600\n');
    chmodSync(join(folder, 'tree', 'sub', 'run.sh'), 0o777);
    await cp('--no-preserve', join(folder, 'tree', 'sub', 'run.sh'), 'user:/tmp/usual');
    expect(await house.sh('user', 'stat -c "%u %g %a" /tmp/usual')).toBe('4321 8765 755\n');
  });

  it('says plainly what is read-only, missing or no directory, and leaves everything as it was', async () => {
    for (const source of ['tree/secret', 'big']) {
      expect(await refused(join(folder, source), 'web:/conf/key')).toBe(
        'error: write to /conf: mounted volume is marked read-only\n',
      );
    }
    expect(await house.sh('web', 'cat /conf/key', 'app')).toBe('a value\n');
    expect(await refused(join(folder, 'tree', 'secret'), 'web:/no/such/place')).toBe(
      'error: no such file or directory in container "app": /no/such\n',
    );
    expect(await refused(join(folder, 'tree', 'secret'), 'web:/data/new/')).toBe(
      'error: no such directory in container "app": /data/new/\n',
    );
    expect(await refused(join(folder, 'tree'), 'web:/data/renamed')).toBe(
      'error: /data/renamed is no directory; a directory cannot be copied over it\n',
    );
    expect(await refused(join(folder, 'nothing'), 'web:/data')).toBe(
      `error: ${join(folder, 'nothing')} doesn't exist in local filesystem\n`,
    );
  });
});

describe('cp out of a container', () => {
  it('brings a folder back as it was', async () => {
    await cp(join(folder, 'tree'), 'web:/data/back');
    const out = join(folder, 'back');
    expect(await cp('web:/data/back', out)).toBe('');
    expect(readdirSync(out).sort()).toEqual(['a name with spaces, ümlauts and "quotes"', 'secret', 'sub']);
    expect(statSync(join(out, 'secret')).mode & 0o777).toBe(0o600);
    expect(readlinkSync(join(out, 'sub', 'link'))).toBe('../secret');
    expect(readFileSync(join(out, 'sub', 'link'), 'utf8')).toBe('a secret\n');
  });

  it('brings a large file whole, there and back', async () => {
    await cp(join(folder, 'big'), 'web:/data/big');
    await cp('web:/data/big', join(folder, 'big2'));
    expect(readFileSync(join(folder, 'big2')).equals(readFileSync(join(folder, 'big')))).toBe(true);
  });

  it('follows the link at the end of the path, as those in a ConfigMap are', async () => {
    await cp('web:/conf/key', folder);
    expect(readFileSync(join(folder, 'key'), 'utf8')).toBe('a value\n');
    expect(lstatSync(join(folder, 'key')).isSymbolicLink()).toBe(false);
  });

  it('leaves out links that lead out of what is copied, and says so', async () => {
    await house.sh(
      'web',
      'mkdir /data/evil; cd /data/evil; ln -s /etc/passwd abs; ln -s ../../x up; echo ok > ok; ln -s ok fine',
      'app',
    );
    const out = join(folder, 'evil');
    const warnings = await cp('web:/data/evil', out);
    expect(warnings.trim().split('\n').sort()).toEqual([
      'warning: skipped link "evil/abs" -> "/etc/passwd": it leads out of what is copied',
      'warning: skipped link "evil/up" -> "../../x": it leads out of what is copied',
    ]);
    expect(readdirSync(out).sort()).toEqual(['fine', 'ok']);
  });

  it('says plainly what is missing, in the container and here', async () => {
    expect(await refused('web:/nothing', folder)).toBe('error: no such file or directory in container "app": /nothing\n');
    expect(await refused('web:/conf/key', join(folder, 'no', 'such', 'place'))).toBe(
      `error: no such directory: ${join(folder, 'no', 'such')}\n`,
    );
    expect(await refused('nobody:/x', folder)).toBe('error: pod "nobody" in namespace "default" not found\n');
    expect(await refused('other/web:/x', folder)).toBe('error: pod "web" in namespace "other" not found\n');
    expect(await refused('web:/x', 'web:/y')).toMatch(/^error: one of source and destination must be in a pod/);
    expect(await refused('a', 'b')).toMatch(/^error: one of source and destination must be in a pod/);
    expect(await refused('web:', folder)).toMatch(/^error: "web:" names no path/);
  });
});

describe('cp and what the engine does not see', () => {
  const local = (name: string): string => join(folder, name);
  const text = (name: string): string => readFileSync(local(name), 'utf8');

  it.each(['/mem', '/data/mem', '/host'])(
    'brings files into and out of the volume at %s, which the container sees',
    async (at) => {
      await cp(local('tree'), `web:${at}/tree`);
      expect(await cat('web', `${at}/tree/sub/link`)).toBe('a secret\n');
      await cp(`web:${at}/tree`, local(`out${at.replaceAll('/', '-')}`));
      expect(text(`out${at.replaceAll('/', '-')}/sub/run.sh`)).toContain('it runs');
    },
  );

  it('brings a folder with a volume in memory below it, and a single file that is mounted', async () => {
    await house.sh('web', 'echo in memory > /data/mem/note', 'app');
    await cp('web:/data', local('data'));
    expect(text('data/mem/note')).toBe('in memory\n');
    await cp('web:/etc/one-key', local('one-key'));
    expect(text('one-key')).toBe('a value\n');
  });

  it('brings files into and out of /dev/shm, with their permissions, as the user of the container', async () => {
    for (const pod of ['web', 'user']) {
      await cp(local('tree'), `${pod}:/dev/shm`);
      expect(await cat(pod, '/dev/shm/tree/sub/link')).toBe('a secret\n');
      await cp(`${pod}:/dev/shm/tree`, local(`shm-${pod}`));
      expect(statSync(local(`shm-${pod}/secret`)).mode & 0o777).toBe(0o600);
      expect(readlinkSync(local(`shm-${pod}/sub/link`))).toBe('../secret');
      await cp(local('tree/secret'), `${pod}:/dev/shm/renamed`);
      expect(await cat(pod, '/dev/shm/renamed')).toBe('a secret\n');
    }
    expect(await house.sh('user', 'stat -c "%u %g %a" /dev/shm/renamed', 'app')).toBe('4321 8765 600\n');
    await cp('web:/dev/shm/tree/a name with spaces, ümlauts and "quotes"', local('empty'));
    expect(text('empty')).toBe('');
  });

  it('brings what the kernel shows in files that have no size, whole and not as nothing', async () => {
    await cp('web:/proc/version', folder);
    expect(text('version')).toBe(await cat('web', '/proc/version'));
    await cp('web:/sys/kernel/mm/transparent_hugepage/enabled', local('enabled'));
    expect(text('enabled')).toBe(await cat('web', '/sys/kernel/mm/transparent_hugepage/enabled'));
    await cp('mounts:/data/inner/deep/version', local('by-link'));
    expect(text('by-link')).toBe(text('version'));
    expect(await refused('web:/proc/sys', local('sys'))).toBe(
      'error: read /proc/sys: /proc/sys (proc) is an interface of the kernel, and a folder of it is not copied: copy its files one by one, and other folders beside it\n',
    );
    expect(await refused(local('tree/secret'), 'web:/proc/new')).toBe(
      'error: write to /proc: /proc (proc) is an interface of the kernel and takes no files\n',
    );
  });

  it('brings what a container has mounted itself, by any path to it, and what covers a folder instead of what is below', async () => {
    await cp('mounts:/link', local('by-link-2'));
    expect(text('by-link-2')).toBe('inner\n');
    await cp('mounts:/data', local('mounts'));
    expect(readdirSync(local('mounts')).sort()).toEqual(['covered', 'inner', 'plain']);
    expect([text('mounts/plain'), text('mounts/covered/file'), text('mounts/inner/deep/file')]).toEqual([
      'outside\n',
      'covering\n',
      'inner\n',
    ]);
    expect(readdirSync(local('mounts/inner'))).toEqual(['deep']);
    await cp('mounts:/', local('all'));
    expect([text('all/data/inner/deep/file'), text('all/ro/file')]).toEqual(['inner\n', 'kept\n']);
    expect(readdirSync(local('all/proc'))).toEqual([]);
    mkdirSync(local('new/inner'), { recursive: true });
    writeFileSync(local('new/inner/file'), 'new\n');
    await cp(`${local('new')}/.`, 'mounts:/data');
    expect(await cat('mounts', '/data/inner/file')).toBe('new\n');
  });

  it('says why a copy into such a place fails, and never that it succeeded', async () => {
    expect(await refused(local('tree/secret'), 'mounts:/ro')).toMatch(
      /^error: write to \/ro: tar in the container ended with exit code \d+: .*Read-only file system/,
    );
    expect(await refused(local('big'), 'mounts:/small')).toMatch(
      /^error: write to \/small: tar in the container ended with exit code \d+: .*No space left on device/,
    );
    const noTar = (doing: string) =>
      `error: ${doing}: /dev/shm (tmpfs) is seen only inside the container, and its image has no "tar" that its user can run: use an image with tar, or copy through a volume\n`;
    expect(await refused(local('tree'), 'bare:/dev/shm')).toBe(noTar('look at /dev/shm'));
    expect(await refused('bare:/dev/shm', folder)).toBe(noTar('look at /dev/shm'));
    const ended =
      'error: look at /dev/shm/x: /dev (tmpfs) is there only while the container runs, and it does not run: copy it earlier, or keep the files in a volume\n';
    expect(await refused('ended:/dev/shm/x', folder)).toBe(ended);
    expect(await refused('web:/dev/shm/nothing', folder)).toBe(
      'error: no such file or directory in container "app": /dev/shm/nothing\n',
    );
  });

  it('needs no tar where the engine sees the files, volumes in memory and the whole container among them', async () => {
    await cp(local('tree/secret'), 'bare:/mem/note');
    await cp('bare:/mem/note', local('bare-note'));
    await cp('bare:/', local('bare'));
    expect([text('bare-note'), text('bare/mem/note')]).toEqual(['a secret\n', 'a secret\n']);
  });
});
