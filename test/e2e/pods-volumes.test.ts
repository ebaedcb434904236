import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { configMap, createPodHouse, type PodHouse, podOf, script, secret, stay } from './pods-fixture.ts';

// What containers find mounted.
let house: PodHouse;
let hostDir: string;
beforeAll(async () => {
  hostDir = mkdtempSync(join(tmpdir(), 'berth-e2e-host-'));
  house = await createPodHouse('volumes');
});
afterAll(async () => {
  await house.berth.purge();
  rmSync(hostDir, { recursive: true, force: true });
});

const podDir = (uid: string) => join(house.berth.dataDir, 'node', house.berth.nodeName, 'pods', uid);

describe('volumes from ConfigMaps and Secrets', () => {
  beforeAll(async () => {
    const mounts = [
      { name: 'whole', mountPath: '/whole' },
      { name: 'chosen', mountPath: '/chosen' },
      { name: 'hidden', mountPath: '/hidden' },
      { name: 'perhaps', mountPath: '/perhaps' },
    ];
    const items = [
      { key: 'one', path: 'deep/first', mode: 0o600 },
      { key: 'two', path: 'second' },
    ];
    const volumes = [
      { name: 'whole', configMap: { name: 'files' } },
      { name: 'chosen', configMap: { name: 'files', items, defaultMode: 0o440 } },
      { name: 'hidden', secret: { secretName: 'keys', defaultMode: 0o400 } },
      { name: 'perhaps', configMap: { name: 'nowhere', optional: true } },
    ];
    await house.apply(
      configMap('files', { one: '1\n', two: '2\n', three: '3\n' }),
      secret('keys', { token: 'hush' }),
      podOf('objects', [script(stay, { volumeMounts: mounts })], { volumes }),
    );
    await house.running('objects');
  });

  it('show every key as a file, or the chosen ones at their paths with their modes', async () => {
    const text = await house.sh('objects', 'cd /whole && ls && cat one && cd /chosen && ls && cat deep/first second');
    expect(text).toBe('one\nthree\ntwo\n1\ndeep\nsecond\n1\n2\n');
    expect(await house.sh('objects', 'stat -L -c %a /whole/one /chosen/deep/first /chosen/second')).toBe('644\n600\n440\n');
  });

  it('show a Secret from memory, with its mode, and an optional one that is missing as an empty folder', async () => {
    expect(await house.sh('objects', 'cat /hidden/token; stat -L -c " %a" /hidden/token; ls /perhaps | wc -l')).toBe(
      'hush 400\n0\n',
    );
    expect(await house.sh('objects', 'grep " /hidden " /proc/mounts')).toContain('tmpfs');
  });

  it('cannot be written to', async () => {
    expect(await house.sh('objects', 'touch /whole/x 2>&1 || echo refused')).toContain('refused');
    expect(await house.sh('objects', 'touch /hidden/x 2>&1 || echo refused')).toContain('refused');
  });

  it('follow changes of their objects while the pod runs', async () => {
    await house.apply(configMap('files', { one: 'changed\n', two: '2\n', four: '4\n' }));
    await eventually('the volume follows', async () =>
      (await house.sh('objects', 'cat /whole/one')) === 'changed\n' ? true : undefined,
    );
    expect(await house.sh('objects', 'cd /whole && ls && cat /chosen/deep/first')).toBe('four\none\ntwo\nchanged\n');
  });
});

describe('an emptyDir', () => {
  it('is shared by the containers of a pod, and gone with it', async () => {
    const volumeMounts = [
      { name: 'shared', mountPath: '/shared' },
      { name: 'memory', mountPath: '/memory' },
    ];
    const volumes = [
      { name: 'shared', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    ];
    await house.apply(
      podOf(
        'shares',
        [
          script(`echo hello > /shared/file; ${stay}`, { name: 'writer', volumeMounts, securityContext: { runAsUser: 1234 } }),
          script(stay, { name: 'reader', volumeMounts: volumeMounts.map((mount) => ({ ...mount, readOnly: true })) }),
        ],
        { volumes },
      ),
    );
    const { metadata } = await house.running('shares');
    await eventually('the file is there', async () =>
      (await house.sh('shares', 'cat /shared/file', 'reader')) === 'hello\n' ? true : undefined,
    );
    expect(await house.sh('shares', 'touch /shared/x 2>&1 || echo refused', 'reader')).toContain('refused');
    const filled = 'head -c 2000000 /dev/zero > /memory/big 2>/dev/null || echo full; grep " /memory " /proc/mounts';
    expect(await house.sh('shares', filled, 'writer')).toMatch(/^full\n.*tmpfs/);
    expect(readdirSync(podDir(metadata.uid))).toContain('volumes');
    await house.berth.ok('delete', 'pod', 'shares');
    expect(existsSync(podDir(metadata.uid))).toBe(false);
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(metadata.uid);
  });
});

describe('a hostPath', () => {
  it("is the machine's own folder, made when the type says so, and stays when the pod goes", async () => {
    writeFileSync(join(hostDir, 'from-host'), 'host');
    const volumeMounts = [
      { name: 'dir', mountPath: '/dir' },
      { name: 'made', mountPath: '/made' },
    ];
    const volumes = [
      { name: 'dir', hostPath: { path: hostDir, type: 'Directory' } },
      { name: 'made', hostPath: { path: join(hostDir, 'made'), type: 'DirectoryOrCreate' } },
    ];
    await house.apply(podOf('host', [script(`cat /dir/from-host > /made/copy; ${stay}`, { volumeMounts })], { volumes }));
    await house.running('host');
    await eventually('the copy is there', async () =>
      readFileSync(join(hostDir, 'made/copy'), 'utf8') === 'host' ? true : undefined,
    );
    await house.berth.ok('delete', 'pod', 'host');
    expect(readFileSync(join(hostDir, 'made/copy'), 'utf8')).toBe('host');
  });

  it('that is not what its type says keeps the pod waiting, and an event says why', async () => {
    const path = join(hostDir, 'not-yet');
    const volumes = [{ name: 'dir', hostPath: { path, type: 'File' } }];
    await house.apply(podOf('waits', [script(stay, { volumeMounts: [{ name: 'dir', mountPath: '/file' }] })], { volumes }));
    await eventually('the event is there', async () =>
      (await house.events('waits')).some(
        (each) => each.reason === 'FailedMount' && each.message.includes(`host path ${path} does not exist`),
      )
        ? true
        : undefined,
    );
    // The event does not wait for the status, nor the status for the event.
    await eventually('the container waits', async () =>
      (await house.row('waits')).status === 'ContainerCreating' ? true : undefined,
    );
    writeFileSync(path, 'now');
    await house.running('waits');
    expect(await house.exec('waits', 'cat', '/file')).toBe('now');
  });
});
