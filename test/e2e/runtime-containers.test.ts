import { randomUUID } from 'node:crypto';
import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createUsageReader } from '../../agent/machine/usage-reader.ts';
import { createContainer } from '../../agent/runtime/docker/create.ts';
import { createEngine } from '../../agent/runtime/docker/engine.ts';
import { createInventory } from '../../agent/runtime/docker/inventory.ts';
import { labelsOf } from '../../agent/runtime/docker/labels.ts';
import type { ObservedContainer } from '../../agent/runtime/runtime.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import { plainSecurity } from '../builders/runtime-config.ts';
import { createFixture, identity, type RuntimeFixture, readAll } from './runtime-fixture.ts';

const everything = { follow: true, tailLines: undefined, sinceTime: undefined, timestamps: false, limitBytes: undefined };
const folder = mkdtempSync(join(tmpdir(), 'berth-e2e-'));
let f: RuntimeFixture;

beforeAll(async () => {
  f = await createFixture('containers');
});
afterAll(async () => {
  await f?.cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

const logsOf = (container: ObservedContainer) => readAll(f.access.logs(container.id, everything, AbortSignal.timeout(30_000)));

async function seen(container: ObservedContainer): Promise<ObservedContainer | undefined> {
  return (await f.runtime.list(container.podUid)).find(({ id }) => id === container.id);
}

describe('the Docker runtime', () => {
  it('says what the engine is', async () => {
    expect(await f.runtime.version()).toMatchObject({
      runtime: expect.stringMatching(/^docker:\/\/\d+\.\d+\.\d+$/),
      apiVersion: expect.stringMatching(/^1\.\d\d$/),
      rootDir: expect.stringMatching(/^\//),
    });
  });

  it('runs a sandbox with an address, and a container that shares its name, network and IPC', async () => {
    const pod = await f.runtime.runSandbox(f.sandbox({ hostname: 'the-host' }));
    expect(pod).toMatchObject({ state: 'running', containerName: 'POD', ip: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/) });
    const app = await f.runtime.runContainer(
      f.container(pod, {
        command: ['sh', '-c'],
        args: ['hostname; hostname -i; echo $GREETING; ls -l /proc/self/ns/ipc; sleep 1000'],
        env: [{ name: 'GREETING', value: 'a=b c' }],
      }),
    );
    expect(app).toMatchObject({
      state: 'running',
      podName: 'web',
      attempt: 0,
      specHash: 'abc',
      gracePeriodSeconds: 30,
      ip: undefined,
    });
    expect(app.pid).toBeGreaterThan(1);
    const lines: string[] = [];
    for await (const chunk of f.access.logs(app.id, everything, AbortSignal.timeout(30_000))) {
      lines.push(...Buffer.from(chunk).toString().trim().split('\n'));
      if (lines.length >= 4) break;
    }
    expect(lines.slice(0, 3)).toEqual(['the-host', pod.ip, 'a=b c']);
    expect(lines[3]).toContain(readIpcNamespace(pod));
    const listed = await f.runtime.list(pod.podUid);
    expect(listed.map(({ containerName, state, ip }) => ({ containerName, state, ip }))).toEqual(
      expect.arrayContaining([
        { containerName: 'POD', state: 'running', ip: pod.ip },
        { containerName: 'app', state: 'running', ip: undefined },
      ]),
    );
  });

  it('stops on SIGTERM, kills what ignores it after the grace period, and takes gone for done', async () => {
    const polite = await f.runShell('trap "exit 3" TERM; echo listens; while true; do sleep 0.1; done');
    for await (const _ of f.access.logs(polite.id, everything, AbortSignal.timeout(30_000))) break;
    await f.runtime.stop(polite.id, 20);
    expect(await seen(polite)).toMatchObject({ state: 'exited', exitCode: 3, pid: undefined, finishedAt: expect.any(Date) });
    const deaf = await f.runShell('trap "" TERM; while true; do sleep 0.1; done');
    await f.runtime.stop(deaf.id, 1);
    expect(await seen(deaf)).toMatchObject({ state: 'exited', exitCode: 137, oomKilled: false });
    await f.runtime.stop(deaf.id, 1);
    await f.runtime.remove(deaf.id);
    await f.runtime.remove(deaf.id);
    await f.runtime.stop(deaf.id, 1);
    expect(await seen(deaf)).toBeUndefined();
  });

  it('stops its own sandbox at once, with code 0', async () => {
    const pod = await f.runtime.runSandbox(f.sandbox());
    await f.runtime.stop(pod.id, 60);
    const ended = await seen(pod);
    expect(ended).toMatchObject({ state: 'exited', exitCode: 0 });
  });

  it('keeps a container whose command does not exist, with the reason', async () => {
    const app = await f.runShell('', { command: ['no-such-command'] });
    expect(app).toMatchObject({
      state: 'exited',
      exitCode: 127,
      startedAt: undefined,
      error: expect.stringContaining('no-such-command'),
    });
    expect(await seen(app)).toEqual(app);
  });

  it('reports a container that the kernel killed for its memory', async () => {
    const limits = { cpuShares: 512, cpuQuota: 50_000, memoryBytes: 16 * 1024 * 1024 };
    const app = await f.runShell('', {
      // The engine begins to listen for kills for memory a moment after the start and hears of one a moment later:
      // both are given a second.
      command: ['sh', '-c', 'sleep 1; tail /dev/zero; sleep 1; exit 9'],
      resources: limits,
    });
    // The stream of its log may end a moment before the engine calls it ended.
    const ended = await until(async () => {
      const container = await seen(app);
      if (container?.state !== 'exited') throw new Error('it still runs');
      return container;
    });
    expect(ended.oomKilled).toBe(true);
  });

  it('sets limits, mounts, user, directory and a read-only root as asked', async () => {
    const file = join(folder, 'a:file');
    writeFileSync(file, 'from the machine');
    const app = await f.runShell('cat /in; id -u; pwd; touch /x 2>/dev/null || echo read-only', {
      mounts: [{ hostPath: file, containerPath: '/in', readOnly: true, propagation: 'rprivate' }],
      security: { ...plainSecurity, user: '1000:1000', readOnlyRootFilesystem: true },
      workingDir: '/tmp',
      resources: { cpuShares: 512, cpuQuota: 50_000, memoryBytes: 64 * 1024 * 1024 },
    });
    expect(await logsOf(app)).toBe('from the machine1000\n/tmp\nread-only\n');
    const { HostConfig } = await new Docker().getContainer(app.id).inspect();
    expect(HostConfig).toMatchObject({
      CpuShares: 512,
      CpuPeriod: 100_000,
      CpuQuota: 50_000,
      Memory: 67_108_864,
      MemorySwap: 67_108_864,
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
    });
  });

  it('takes other limits while it runs, and tells them', async () => {
    const app = await f.runShell('sleep 1000', {
      resources: { cpuShares: 512, cpuQuota: 50_000, memoryBytes: 32 * 1024 * 1024 },
    });
    const limits = { cpuShares: 1024, cpuQuota: 20_000, memoryBytes: 64 * 1024 * 1024 };
    await f.runtime.update(app.id, limits);
    expect(await seen(app)).toMatchObject({ state: 'running', startedAt: app.startedAt, limits });
    const { HostConfig } = await new Docker().getContainer(app.id).inspect();
    expect(HostConfig).toMatchObject({ CpuShares: 1024, CpuQuota: 20_000, Memory: 67_108_864, MemorySwap: 67_108_864 });
  });

  it("runs where the usage reader finds the container's processor time, memory and network", async () => {
    const pod = await f.runtime.runSandbox(f.sandbox());
    const app = await f.runtime.runContainer(f.container(pod, { command: ['sh', '-c', 'while true; do :; done'] }));
    const reader = createUsageReader({ nodeName: f.nodeName, dataDir: folder });
    await reader.sample([pod, app]);
    const { metrics } = await until(async () => {
      const sample = await reader.sample([pod, app]);
      const cpu = sample.metrics.pods?.[0]?.containers?.[0]?.usage?.cpu;
      if (quantityMilli(cpu) < 100 || quantityMilli(sample.usage.cpu) < 100) throw new Error('it has not used much yet');
      return sample;
    });
    const [metricsOfPod] = metrics.pods ?? [];
    expect(quantityValue(metricsOfPod?.containers?.[0]?.usage?.memory)).toBeGreaterThan(10_000);
    expect(metricsOfPod).toMatchObject({ uid: pod.podUid, networkReceiveBytes: expect.any(Number) });
    await f.runtime.remove(app.id);
  });

  it('publishes a port, and says so when it is taken', async () => {
    const hostPort = await freePort();
    const portMappings = [{ containerPort: 8080, hostPort, hostIP: '127.0.0.1', protocol: 'tcp' as const }];
    const pod = await f.runtime.runSandbox(f.sandbox({ portMappings }));
    await f.runtime.runContainer(
      f.container(pod, { command: ['sh', '-c', 'echo hello > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'] }),
    );
    const page = await until(async () => (await fetch(`http://127.0.0.1:${hostPort}/index.html`)).text());
    expect(page).toBe('hello\n');
    await expect(f.runtime.runSandbox(f.sandbox({ portMappings }))).rejects.toMatchObject({
      code: 'port-in-use',
      message: expect.stringContaining(`host port 127.0.0.1:${hostPort}/TCP is in use on this machine`),
    });
    expect(await f.runtime.list()).not.toContainEqual(expect.objectContaining({ containerName: 'POD', state: 'created' }));
  });

  it('runs a sandbox in the network of the machine', async () => {
    const pod = await f.runtime.runSandbox(f.sandbox({ hostNetwork: true }));
    expect(pod).toMatchObject({ state: 'running', ip: undefined });
  });

  it('refuses an image that is not present', async () => {
    const pod = await f.runtime.runSandbox(f.sandbox());
    await expect(f.runtime.runContainer(f.container(pod, { image: 'not/here:1' }))).rejects.toMatchObject({
      code: 'image-not-found',
      message: expect.stringMatching(/create container default\/web\/app: .*not\/here:1/),
    });
  });

  it('sees and touches only containers of its own node', async () => {
    const other = await createFixture('other');
    try {
      const stranger = await other.runShell('sleep 1000');
      expect((await f.runtime.list()).map(({ id }) => id)).not.toContain(stranger.id);
      await expect(
        f.access.exec(stranger.id, { command: ['true'], tty: false, stdin: false }, AbortSignal.timeout(9000)),
      ).rejects.toMatchObject({
        code: 'not-found',
      });
    } finally {
      await other.cleanUp();
    }
  });
});

describe('a container name in use', () => {
  const engine = createEngine();
  afterAll(() => engine.close());

  async function create(uid: string, nodeName: string, specHash = 'abc') {
    const id = { ...identity(uid, 'app'), specHash };
    const inventory = createInventory(engine, nodeName, { oomKills: { has: () => false } });
    const spec = { Image: 'berth-test/busybox:1', Cmd: ['true'], Labels: labelsOf(nodeName, id) };
    return createContainer({ engine, inventory, identity: id, spec });
  }
  it('is adopted when it is the same container, never started', async () => {
    const uid = randomUUID();
    expect(await create(uid, f.nodeName)).toBe(await create(uid, f.nodeName));
  });

  it('is freed when it is another container of this node', async () => {
    const uid = randomUUID();
    const old = await create(uid, f.nodeName);
    const fresh = await create(uid, f.nodeName, 'other');
    expect(fresh).not.toBe(old);
    await expect(new Docker().getContainer(old).inspect()).rejects.toMatchObject({ statusCode: 404 });
  });

  it('is avoided when it is a foreign container', async () => {
    const other = await createFixture('namesake');
    try {
      const uid = randomUUID();
      const theirs = await create(uid, other.nodeName);
      expect(await create(uid, f.nodeName)).not.toBe(theirs);
      await new Docker().getContainer(theirs).inspect();
    } finally {
      await other.cleanUp();
    }
  });
});

function readIpcNamespace(pod: ObservedContainer): string {
  return readlinkSync(`/proc/${pod.pid}/ns/ipc`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function until<T>(attempt: () => Promise<T>, deadline = Date.now() + 20_000): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
