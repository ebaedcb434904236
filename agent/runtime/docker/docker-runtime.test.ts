import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainNamespaces, plainSecurity } from '../../../test/builders/runtime-config.ts';
import { type ContainerConfig, type ContainerIdentity, type SandboxConfig, sandboxName } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import { containerSpec, sandboxSpec } from './container-spec.ts';
import { decideOnHolder } from './create.ts';
import { chooseApiVersion } from './engine.ts';
import { translate } from './errors.ts';
import { demultiplex } from './frames.ts';
import { engineName, identityOf, labelsOf } from './labels.ts';
import { parseLines } from './lines.ts';
import { type Inspection, observeInspection } from './observe.ts';
import { createOomPolicy, hasSysResource } from './oom-policy.ts';
import { pidsLimitOf } from './pids-limit.ts';
import { splitReference } from './reference.ts';

const identity: ContainerIdentity = {
  podUid: '4b7e9c1a-0000-4000-8000-000000000001',
  podName: 'web',
  podNamespace: 'default',
  containerName: 'app',
  attempt: 2,
  specHash: 'abc',
  gracePeriodSeconds: 7,
};

describe('labels', () => {
  it('carry an identity there and back', () => {
    expect(identityOf(labelsOf('n1', identity))).toMatchObject(identity);
  });

  it('of a container that lost some still give an identity', () => {
    expect(identityOf({ 'io.berth.node': 'n1', 'io.berth.container.attempt': 'x' })).toMatchObject({
      podUid: '',
      attempt: 0,
      gracePeriodSeconds: 30,
    });
  });

  it('are never replaced by the name, which is bounded and of allowed characters only', () => {
    expect(engineName(identity)).toBe('berth_app_web_default_4b7e9c1a-0000-4000-8000-000000000001_2');
    const long = engineName({ ...identity, podName: 'p'.repeat(253), podUid: 'a:b/c' });
    expect(long.length).toBeLessThan(256);
    expect(long).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/);
  });
});

describe('the multiplexed stream', () => {
  const frame = (type: number, data: Buffer) => Buffer.concat([Buffer.from([type, 0, 0, 0]), lengthOf(data), data]);
  const lengthOf = (data: Buffer) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(data.length);
    return bytes;
  };
  async function* inPieces(bytes: Buffer, cuts: readonly number[]) {
    let at = 0;
    for (const cut of [...new Set(cuts.map((value) => value % (bytes.length + 1)))].sort((a, b) => a - b)) {
      yield bytes.subarray(at, cut);
      at = cut;
    }
    yield bytes.subarray(at);
  }

  it('comes apart the same however it is cut into chunks', async () => {
    const frames = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 40 })), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(frames, fc.array(fc.nat(600), { maxLength: 20 }), async (parts, cuts) => {
        const bytes = Buffer.concat(parts.map(([type, data]) => frame(type, Buffer.from(data))));
        const seen = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
        for await (const { stream, data } of demultiplex(inPieces(bytes, cuts))) seen[stream].push(data);
        const wanted = (wantedType: number) =>
          Buffer.concat(parts.filter(([type]) => type === wantedType).map(([, data]) => data));
        expect(Buffer.concat(seen.stdout)).toEqual(wanted(1));
        expect(Buffer.concat(seen.stderr)).toEqual(wanted(2));
      }),
    );
  });
});

describe('lines of JSON', () => {
  it('are read across chunks, also when a character is cut in two and the last line has no end', async () => {
    const bytes = Buffer.from('{"a":"é"}\r\n\n{"a":2}\n{"a":3}');
    const chunks = Array.from(bytes, (byte) => Buffer.from([byte]));
    const seen: unknown[] = [];
    for await (const line of parseLines(toAsync(chunks))) seen.push(line);
    expect(seen).toEqual([{ a: 'é' }, { a: 2 }, { a: 3 }]);
  });

  it('that never end are given up', async () => {
    const endless = Array.from({ length: 20 }, () => Buffer.alloc(100_000, 'x'));
    await expect(parseLines(toAsync(endless)).next()).rejects.toThrow('characters');
  });
});

async function* toAsync<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

describe('errors of the engine', () => {
  const answer = (statusCode: number, message: string) =>
    Object.assign(new Error(`(HTTP code ${statusCode})`), { statusCode, json: { message } });

  it.each([
    ['container', 404, 'not-found'],
    ['container', 409, 'conflict'],
    ['container', 400, 'invalid'],
    ['container', 500, 'failed'],
    ['image', 404, 'image-not-found'],
    ['pull', 404, 'image-not-found'],
    ['pull', 401, 'image-unauthorized'],
    ['pull', 400, 'image-invalid-name'],
    ['pull', 500, 'unavailable'],
  ] as const)('about a %s with status %i are %s, in its own words', (subject, status, code) => {
    const error = translate(answer(status, 'No such thing: x'), 'do it', subject);
    expect(error).toMatchObject({ code, message: 'do it: No such thing: x' });
  });

  it('keep the words of the engine only, whichever way the library hands them out', () => {
    const streamed = Object.assign(new Error('(HTTP code 500) server error - Get "http://x/v2/": connection refused '), {
      statusCode: 500,
    });
    const { code, message } = translate(streamed, 'pull image x', 'pull');
    expect({ code, message }).toEqual({ code: 'unavailable', message: 'pull image x: Get "http://x/v2/": connection refused' });
  });

  it('of the connection are unavailable, and what is translated stays', () => {
    const refused = Object.assign(new Error('connect ENOENT'), { code: 'ENOENT' });
    expect(translate(refused, 'list', 'container')).toMatchObject({ code: 'unavailable' });
    const own = new RuntimeError('timeout', 'x');
    expect(translate(own, 'list', 'container')).toBe(own);
  });
});

describe('the version of the API', () => {
  it.each([
    ['1.41', '1.12', '1.41'],
    ['1.47', '1.24', '1.47'],
    ['1.60', '1.44', '1.52'],
  ])('for an engine that speaks %s down to %s is %s', (newest, oldest, chosen) => {
    expect(chooseApiVersion(newest, oldest)).toBe(chosen);
  });

  it('is refused when the two have none in common', () => {
    expect(() => chooseApiVersion('1.40', '1.12')).toThrow('too old');
    expect(() => chooseApiVersion('2.0', '1.99')).toThrow('update Berth');
  });
});

const sandbox: SandboxConfig = {
  identity,
  image: 'pause',
  hostname: 'h'.repeat(80),
  hostNetwork: false,
  namespaces: plainNamespaces,
  sysctls: {},
  seLinux: [],
  labels: {},
  namedPorts: [],
  portMappings: [
    { containerPort: 80, hostPort: 8080, hostIP: '', protocol: 'tcp' },
    { containerPort: 80, hostPort: 8081, hostIP: '127.0.0.1', protocol: 'tcp' },
  ],
};
const facts = { nodeName: 'n1', oomScoreAdj: 0, lacking: [] };
const container: ContainerConfig = {
  identity,
  sandboxId: 'sb',
  image: 'app',
  command: ['run'],
  args: undefined,
  workingDir: undefined,
  env: [{ name: 'A', value: 'b=c' }],
  mounts: [{ hostPath: '/a:b', containerPath: '/c', readOnly: true, propagation: 'rslave' }],
  resources: { cpuShares: 2, cpuQuota: 50_000, memoryBytes: 1000 },
  oomScoreAdj: undefined,
  security: plainSecurity,
  namespaces: plainNamespaces,
  tty: false,
  stdin: false,
  stdinOnce: false,
};

describe('what the engine is sent', () => {
  it('for a sandbox binds both ports of one container port and cuts the host name where the kernel does', () => {
    expect(sandboxSpec({ ...facts, oomScoreAdj: -998 }, sandbox)).toMatchObject({
      Hostname: 'h'.repeat(64),
      ExposedPorts: { '80/tcp': {} },
      HostConfig: {
        NetworkMode: 'bridge',
        IpcMode: 'shareable',
        OomScoreAdj: -998,
        LogConfig: { Type: 'none' },
        PortBindings: {
          '80/tcp': [
            { HostIp: '', HostPort: '8080' },
            { HostIp: '127.0.0.1', HostPort: '8081' },
          ],
        },
      },
    });
  });

  it('for a sandbox that the agent joins asks for no network, and keeps its address and ports in labels', () => {
    const ownPorts = [{ containerPort: 80, hostPort: 8080, hostIP: '', protocol: 'tcp' } as const];
    const spec = sandboxSpec(facts, { ...sandbox, portMappings: [], address: '10.42.0.2', ownPorts });
    const kept = { 'io.berth.sandbox.ip': '10.42.0.2', 'io.berth.sandbox.ports': JSON.stringify(ownPorts) };
    expect(spec).toMatchObject({ NetworkDisabled: true, Labels: kept });
    expect(spec).not.toHaveProperty('HostConfig.NetworkMode');
    expect(sandboxSpec(facts, sandbox)).not.toHaveProperty('NetworkDisabled');
  });

  it("for a sandbox in the machine's network sets neither name nor bindings", () => {
    const spec = sandboxSpec(facts, { ...sandbox, hostNetwork: true });
    expect(spec).toMatchObject({ HostConfig: { NetworkMode: 'host' } });
    expect(spec).not.toHaveProperty('Hostname');
    expect(spec).not.toHaveProperty('HostConfig.PortBindings');
    expect(spec).not.toHaveProperty('HostConfig.OomScoreAdj');
  });

  it('for a container joins the sandbox, bounds logs and forbids swapping around the limit', () => {
    const spec = containerSpec({ ...facts, oomScoreAdj: 0 }, container);
    expect(spec).toMatchObject({
      Entrypoint: ['run'],
      Env: ['A=b=c'],
      Labels: { 'io.berth.node': 'n1', 'io.berth.container.name': 'app' },
      HostConfig: {
        NetworkMode: 'container:sb',
        IpcMode: 'container:sb',
        Memory: 1000,
        MemorySwap: 1000,
        CpuPeriod: 100_000,
        CpuQuota: 50_000,
        RestartPolicy: { Name: 'no' },
        LogConfig: { Config: { 'max-size': '10m', 'max-file': '3' } },
        Mounts: [{ Type: 'bind', Source: '/a:b', Target: '/c', ReadOnly: true, BindOptions: { Propagation: 'rslave' } }],
      },
    });
    expect(spec).not.toHaveProperty('Cmd');
  });

  it('runs no health check of an image', () => {
    for (const spec of [containerSpec(facts, container), sandboxSpec(facts, sandbox)])
      expect(spec).toMatchObject({ Healthcheck: { Test: ['NONE'] } });
  });

  it('bounds the processes of a container by what was asked for and the machine allows, and those of a sandbox not', () => {
    expect([pidsLimitOf(undefined, 32_768), pidsLimitOf(undefined, 1_000), pidsLimitOf(0, 1_000)]).toEqual([4_096, 1_000, 0]);
    expect(containerSpec({ ...facts, pidsLimit: 4_096 }, container)).toMatchObject({ HostConfig: { PidsLimit: 4_096 } });
    expect(containerSpec({ ...facts, pidsLimit: 0 }, container)).not.toHaveProperty('HostConfig.PidsLimit');
    expect(sandboxSpec({ ...facts, pidsLimit: 4_096 }, sandbox)).not.toHaveProperty('HostConfig.PidsLimit');
  });
});

describe('what the engine says of a container', () => {
  const inspection = (state: Partial<Inspection['State']>, labels = labelsOf('n1', identity)): Inspection => ({
    Id: 'c1',
    Created: '2026-01-01T00:00:00Z',
    Image: 'sha256:1',
    Config: { Image: 'app:1', Labels: labels, Tty: false, OpenStdin: false, WorkingDir: '' },
    State: {
      Status: 'created',
      Running: false,
      OOMKilled: false,
      Pid: 0,
      ExitCode: 0,
      Error: '',
      StartedAt: '0001-01-01T00:00:00Z',
      FinishedAt: '0001-01-01T00:00:00Z',
      ...state,
    },
  });

  it('when it could not be started reads as exited with the reason', () => {
    expect(observeInspection(inspection({ ExitCode: 127, Error: 'no such file' }))).toMatchObject({
      state: 'exited',
      exitCode: 127,
      error: 'no such file',
      startedAt: undefined,
      finishedAt: new Date('2026-01-01T00:00:00Z'),
    });
  });

  it('while it runs has a process, and no exit code of an earlier run', () => {
    const running = observeInspection(
      inspection({ Status: 'running', Running: true, Pid: 9, StartedAt: '2026-01-01T00:00:01Z' }),
    );
    expect(running).toMatchObject({ state: 'running', pid: 9, exitCode: undefined, finishedAt: undefined });
  });

  it('is nothing that the labels of its image say', () => {
    const ofImage = {
      'io.berth.node': 'n2',
      'io.berth.pod.uid': 'other',
      'io.berth.container.name': sandboxName,
      'io.berth.container.attempt': '9',
      'io.berth.container.restarts-in-row': '9',
      'io.berth.container.spec-hash': 'other',
      'io.berth.container.sandbox-id': 'other',
      'io.berth.container.devices': '{"example.com/gpu":["0"]}',
      'io.berth.sandbox.ip': '10.42.0.2',
      'io.berth.sandbox.ports': '[{"containerPort":80,"hostPort":443,"hostIP":"","protocol":"tcp"}]',
    };
    const { Labels } = containerSpec(facts, container);
    // As the engine puts them together.
    const seen = observeInspection(inspection({ Status: 'running' }, { ...ofImage, ...Labels }));
    expect(seen).toEqual(observeInspection(inspection({ Status: 'running' }, Labels)));
    expect(seen).toMatchObject({ containerName: 'app', attempt: 2, restartsInRow: 0, sandboxId: 'sb', ip: undefined });
    for (const property of ['heldUnits', 'routed', 'hostPorts']) expect(seen).not.toHaveProperty(property);
  });

  it('is of a sandbox the address and the ports that its labels keep', () => {
    const ownPorts = [{ containerPort: 80, hostPort: 8080, hostIP: '', protocol: 'tcp' } as const];
    const { Labels } = sandboxSpec(facts, {
      ...{ ...sandbox, portMappings: [], address: '10.42.0.2', ownPorts },
      identity: { ...identity, containerName: sandboxName },
    });
    const seen = observeInspection(inspection({ Status: 'running' }, Labels));
    expect(seen).toMatchObject({ ip: '10.42.0.2', routed: true, hostPorts: ownPorts });
  });

  it.each([
    ['is asked for again when it is gone meanwhile', undefined, 'retry'],
    ['is adopted when it is the one wanted and was never started', inspection({}), 'adopt'],
    ['is removed when it runs', inspection({ Status: 'running' }), 'remove'],
    ['is removed when it could not be started', inspection({ Error: 'x' }), 'remove'],
    ['is removed when it is of another spec', inspection({}, labelsOf('n1', { ...identity, specHash: 'other' })), 'remove'],
    ["is left alone when it is another node's", inspection({}, labelsOf('n2', identity)), 'go-around'],
    ['is left alone when it is not of Berth', inspection({}, {}), 'go-around'],
  ] as const)('that has the wanted name %s', (_, holder, verdict) => {
    expect(decideOnHolder(holder, labelsOf('n1', identity))).toBe(verdict);
  });
});

describe('the oom policy', () => {
  it('asks the engine once and then never asks for a negative score', () => {
    const warnings: string[] = [];
    let asked = 0;
    const policy = createOomPolicy(
      (text) => warnings.push(text),
      () => ++asked === 0,
    );
    expect([policy.bounded(500), asked]).toEqual([500, 0]);
    expect([policy.bounded(-998), policy.bounded(-5), policy.bounded(3)]).toEqual([0, 0, 3]);
    expect([asked, warnings.length]).toEqual([1, 1]);
  });

  it('where the engine cannot be asked suspects the score for the first failure only', () => {
    const policy = createOomPolicy(
      () => {},
      () => undefined,
    );
    const failed = new RuntimeError('failed', 'EOF');
    expect(policy.bounded(-998)).toBe(-998);
    expect(policy.mayBeTheCause(failed)).toBe(true);
    expect(policy.mayBeTheCause(new RuntimeError('unavailable', 'x'))).toBe(false);
    policy.allowed();
    expect(policy.mayBeTheCause(failed)).toBe(false);
  });

  it('reads the capability of a process', () => {
    expect(hasSysResource('CapPrm:\t0\nCapEff:\t000001ffffffffff\n')).toBe(true);
    expect(hasSysResource('CapEff:\t000001fffeffffff\n')).toBe(false);
    expect(hasSysResource('')).toBeUndefined();
  });
});

describe('an image reference', () => {
  it.each([
    ['busybox', { name: 'busybox', tag: undefined, digest: undefined }],
    ['r:5000/a/b', { name: 'r:5000/a/b', tag: undefined, digest: undefined }],
    ['r:5000/a/b:1', { name: 'r:5000/a/b', tag: '1', digest: undefined }],
    ['a/b:1@sha256:ff', { name: 'a/b', tag: '1', digest: 'sha256:ff' }],
  ])('%s comes apart', (text, parts) => {
    expect(splitReference(text)).toEqual(parts);
  });
});
