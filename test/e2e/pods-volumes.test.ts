import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
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
      { name: 'part', mountPath: '/part' },
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
      { name: 'part', secret: { secretName: 'keys', items: [{ key: 'token', path: 'deep/token', mode: 0o440 }] } },
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
    expect(await house.sh('objects', 'ls /part; cat /part/deep/token; stat -L -c " %a" /part/deep/token')).toBe(
      'deep\nhush 440\n',
    );
  });

  it('cannot be written to', async () => {
    expect(await house.sh('objects', 'touch /whole/x 2>&1 || echo refused')).toContain('refused');
    expect(await house.sh('objects', 'touch /hidden/x 2>&1 || echo refused')).toContain('refused');
  });

  // Both wait for the agent's next round, which it makes every half minute: together.
  it.concurrent('follow changes of their objects while the pod runs', async () => {
    await house.apply(configMap('files', { one: 'changed\n', two: '2\n', four: '4\n' }), secret('keys', { token: 'loud' }));
    await eventually('the volume follows', async () =>
      (await house.sh('objects', 'cat /whole/one')) === 'changed\n' ? true : undefined,
    );
    await eventually('the Secret follows', async () =>
      (await house.sh('objects', 'cat /hidden/token /part/deep/token')) === 'loudloud' ? true : undefined,
    );
    expect(await house.sh('objects', 'cd /whole && ls && cat /chosen/deep/first')).toBe('four\none\ntwo\nchanged\n');
    expect(await house.sh('objects', 'stat -L -c %a /hidden/token /part/deep/token')).toBe('400\n440\n');
  });

  it.concurrent('change as a whole: who looks sees all of the object as it was, or all of it as it is', async () => {
    const object = (generation: number) =>
      configMap('pair', Object.fromEntries(['a', 'b'].map((name) => [name, `${generation}`.repeat(100_000)])));
    const look = 'cd /pair/..data && for f in a b; do cut -c1 $f; tail -c1 $f; echo; wc -c <$f; done';
    const notes = `while :; do seen=$(${look}) && echo $seen >>/tmp/seen; sleep 0.1; done`;
    await house.apply(
      object(1),
      podOf('watches', [script(notes, { volumeMounts: [{ name: 'pair', mountPath: '/pair' }] })], {
        volumes: [{ name: 'pair', configMap: { name: 'pair' } }],
      }),
    );
    await house.running('watches');
    const folders = new Set([await house.sh('watches', 'readlink /pair/..data')]);
    for (const generation of [2, 3, 4]) {
      await house.apply(object(generation));
      // The first change waits for the agent's round; an annotation brings the others without a wait.
      if (generation > 2) await house.berth.ok('annotate', 'pod', 'watches', `generation=${generation}`, '--overwrite');
      await eventually('it is seen', async () =>
        (await house.sh('watches', 'tail -n 1 /tmp/seen')).startsWith(`${generation} `) ? true : undefined,
      );
      folders.add(await house.sh('watches', 'readlink /pair/..data'));
    }
    const seen = (await house.sh('watches', 'sort -u /tmp/seen')).trim().split('\n');
    expect(seen).toEqual([1, 2, 3, 4].map((each) => `${each} ${each} 100000 ${each} ${each} 100000`));
    expect([...folders]).toHaveLength(4);
    expect(await house.sh('watches', 'readlink /pair/a; ls -A /pair | wc -l')).toBe('..data/a\n4\n');
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

  it('is a file that is made, a socket or a device of the machine when its type says so, and a pod waits for each that is another', async () => {
    const server = createServer().listen(join(hostDir, 'socket'));
    await once(server, 'listening');
    execFileSync('mknod', [join(hostDir, 'disk'), 'b', '7', '0']);
    writeFileSync(join(hostDir, 'plain'), 'as it was');
    mkdirSync(join(hostDir, 'folder'));
    const paths = {
      made: ['FileOrCreate', join(hostDir, 'log')],
      kept: ['FileOrCreate', join(hostDir, 'plain')],
      socket: ['Socket', join(hostDir, 'socket')],
      characters: ['CharDevice', '/dev/zero'],
      disk: ['BlockDevice', join(hostDir, 'disk')],
    } as const;
    const wrong = [
      ['Directory', 'plain', 'a directory'],
      ['DirectoryOrCreate', 'plain', 'a directory'],
      ['File', 'folder', 'a file'],
      ['FileOrCreate', 'folder', 'a file'],
      ['Socket', 'plain', 'a socket'],
      ['CharDevice', 'disk', 'a character device'],
      ['BlockDevice', 'socket', 'a block device'],
    ] as const;
    const mounting = (pod: string, text: string, entries: readonly (readonly [name: string, type: string, path: string])[]) =>
      podOf(pod, [script(text, { volumeMounts: entries.map(([name]) => ({ name, mountPath: `/${name}` })) })], {
        volumes: entries.map(([name, type, path]) => ({ name, hostPath: { path, type } })),
      });
    await house.apply(
      mounting(
        'types',
        `echo said >>/made; ${stay}`,
        Object.entries(paths).map(([name, [type, path]]) => [name, type, path]),
      ),
      ...wrong.map(([type, path]) => mounting(`wrong-${type.toLowerCase()}`, stay, [['it', type, join(hostDir, path)]])),
    );
    try {
      await house.running('types');
      const look =
        'cat /kept; test -S /socket && test -c /characters && test -b /disk && echo " all"; head -c 3 /characters | wc -c';
      expect(await house.sh('types', look)).toBe('as it was all\n3\n');
      await eventually('the file says so', async () =>
        readFileSync(join(hostDir, 'log'), 'utf8') === 'said\n' ? true : undefined,
      );
      expect(statSync(join(hostDir, 'log')).mode & 0o777).toBe(0o644);
      for (const [type, path, what] of wrong)
        await eventually(`the event of ${type} is there`, async () =>
          (await house.events(`wrong-${type.toLowerCase()}`)).some(
            ({ reason, message }) =>
              reason === 'FailedMount' && message.includes(`host path ${join(hostDir, path)} is not ${what}`),
          )
            ? true
            : undefined,
        );
    } finally {
      server.close();
    }
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
