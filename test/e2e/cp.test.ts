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

const container = (name: string, more: object = {}) => ({
  name,
  image,
  imagePullPolicy: 'Never',
  command: ['sh', '-c', 'exec sleep 10000'],
  ...more,
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-cp-'));
  house = await createPodHouse('cp');
  const volumeMounts = [
    { name: 'data', mountPath: '/data' },
    { name: 'conf', mountPath: '/conf' },
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
        ],
      },
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
