import { describe, expect, it } from 'vitest';
import type { ContainerConfig, ContainerIdentity, SandboxConfig } from '../../agent/runtime/runtime.ts';
import { RuntimeError } from '../../agent/runtime/runtime-error.ts';
import { plainNamespaces, plainSecurity } from '../builders/runtime-config.ts';
import { createFakeRuntime } from './fake-runtime.ts';

const identity = (containerName: string): ContainerIdentity => ({
  podUid: 'u1',
  podName: 'web',
  podNamespace: 'default',
  containerName,
  attempt: 0,
  specHash: 'h',
  gracePeriodSeconds: 30,
});
const sandbox = (hostPort = 0): SandboxConfig => ({
  identity: identity('POD'),
  image: 'pause',
  hostname: 'web',
  hostNetwork: false,
  namespaces: plainNamespaces,
  sysctls: {},
  seLinux: [],
  labels: {},
  namedPorts: [],
  portMappings: hostPort === 0 ? [] : [{ containerPort: 80, hostPort, hostIP: '', protocol: 'tcp' }],
});
const container = (sandboxId: string): ContainerConfig => ({
  identity: identity('app'),
  sandboxId,
  image: 'app:1',
  command: undefined,
  args: undefined,
  workingDir: undefined,
  env: [],
  mounts: [],
  resources: { cpuShares: 0, cpuQuota: 0, memoryBytes: 0 },
  oomScoreAdj: undefined,
  security: plainSecurity,
  namespaces: plainNamespaces,
  tty: false,
  stdin: false,
  stdinOnce: false,
});

describe('the fake runtime', () => {
  it('runs a sandbox with an address, and a container in it', async () => {
    const fake = createFakeRuntime({ images: ['pause', 'app:1'] });
    const pod = await fake.runtime.runSandbox(sandbox());
    expect(pod.ip).toMatch(/^172\.17\./);
    expect(await fake.runtime.runContainer(container(pod.id))).toMatchObject({
      state: 'running',
      containerName: 'app',
      ip: undefined,
    });
    expect(fake.calls.map((call) => `${call.method} ${call.target}`)).toEqual(['runSandbox web/POD', 'runContainer web/app']);
  });

  it('refuses a container without its image, without its sandbox, and a port that is taken', async () => {
    const fake = createFakeRuntime({ images: ['pause'] });
    const pod = await fake.runtime.runSandbox(sandbox(8080));
    await expect(fake.runtime.runContainer(container(pod.id))).rejects.toMatchObject({ code: 'image-not-found' });
    await fake.images.pull('app:1', { signal: AbortSignal.timeout(1000) });
    await expect(fake.runtime.runContainer(container('gone'))).rejects.toMatchObject({ code: 'conflict' });
    await expect(fake.runtime.runSandbox(sandbox(8080))).rejects.toMatchObject({ code: 'port-in-use' });
  });

  it('keeps a container that cannot be started, with its error', async () => {
    const fake = createFakeRuntime({ images: ['pause', 'app:1'] });
    fake.behave('app', { startError: 'exec: "nope": not found' });
    const pod = await fake.runtime.runSandbox(sandbox());
    const app = await fake.runtime.runContainer(container(pod.id));
    expect(app).toMatchObject({ state: 'exited', exitCode: 127, error: 'exec: "nope": not found', startedAt: undefined });
  });

  it('kills a container that ignores SIGTERM once its grace period is over', async () => {
    const slept: number[] = [];
    const sleep = async (ms: number) => void slept.push(ms);
    const fake = createFakeRuntime({ images: ['pause', 'app:1'], sleep });
    fake.behave('app', { ignoresTerm: true });
    const app = await fake.runtime.runContainer(container((await fake.runtime.runSandbox(sandbox())).id));
    await fake.runtime.stop(app.id, 5);
    expect(slept).toEqual([5000]);
    expect(fake.container('web', 'app')).toMatchObject({ state: 'exited', exitCode: 137 });
  });

  it('tells watchers of what happened, and of every pod after the engine was away', async () => {
    const fake = createFakeRuntime({ images: ['pause'] });
    const abort = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of fake.runtime.events(abort.signal)) {
        seen.push(event.podUid);
        if (seen.length === 3) abort.abort();
      }
    })();
    await fake.runtime.runSandbox(sandbox());
    fake.setDown(true);
    await expect(fake.runtime.list()).rejects.toBeInstanceOf(RuntimeError);
    fake.setDown(false);
    await watching;
    expect(seen).toEqual(['u1', 'u1', 'u1']);
  });

  it('follows logs until the container ends', async () => {
    const fake = createFakeRuntime({ images: ['pause', 'app:1'] });
    const app = await fake.runtime.runContainer(container((await fake.runtime.runSandbox(sandbox())).id));
    fake.writeLog(app.id, 'one');
    fake.writeLog(app.id, 'two');
    const options = { follow: true, tailLines: 1, sinceTime: undefined, timestamps: false, limitBytes: undefined };
    const lines: string[] = [];
    for await (const chunk of fake.access.logs(app.id, options, AbortSignal.timeout(1000))) {
      lines.push(Buffer.from(chunk).toString());
      if (lines.length === 1) fake.writeLog(app.id, 'three');
      else fake.exit(app.id, 0);
    }
    expect(lines).toEqual(['two\n', 'three\n']);
  });

  it('answers an exec that echoes its input until the input is closed', async () => {
    const fake = createFakeRuntime({ images: ['pause', 'app:1'] });
    const app = await fake.runtime.runContainer(container((await fake.runtime.runSandbox(sandbox())).id));
    fake.onExec(() => ({ echo: true, exitCode: 3 }));
    const session = await fake.access.exec(app.id, { command: ['cat'], tty: false, stdin: true }, AbortSignal.timeout(1000));
    await session.write(Buffer.from('hi'));
    await session.closeInput();
    const out: string[] = [];
    for await (const { data } of session.output()) out.push(Buffer.from(data).toString());
    expect(out).toEqual(['hi']);
    expect(await session.exitCode()).toBe(3);
  });
});
