import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, type Server as HttpServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestPki } from '../fakes/test-pki.ts';
import { eventually } from './installation.ts';
import {
  conditionOf,
  containerOf,
  createPodHouse,
  listening,
  type PodHouse,
  type PodJson,
  podOf,
  script,
  stay,
  untilItListens,
} from './pods-fixture.ts';

// Probes, hooks and last words of real containers: all pods are made at once, and each shows several fields.
let house: PodHouse;
let dir: string;
let grpc: GrpcServer;
let health: HealthImplementation;
const servers: HttpServer[] = [];
/** What was asked of the test's own servers: path and User-Agent. */
const asked: string[] = [];
let secureStatus = 503;

const file = (name: string) => join(dir, name);
const read = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), 'utf8') : '');
const written = (name: string, text: string) =>
  eventually(`${name} says ${text}`, async () => read(name).includes(text) || undefined);
const messages = async (pod: string) =>
  (await house.events(pod)).map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
const told = (pod: string, text: string) =>
  eventually(`an event of ${pod} says ${text}`, async () => (await messages(pod)).find((line) => line.includes(text)));
const exec = (text: string) => ({ exec: { command: ['sh', '-c', text] } });
/** Where the time-out is not what is tested: some thirty pods that start at once leave little for a probe's process. */
const fast = { periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 1 };

const volumeMounts = [{ name: 'host', mountPath: '/host' }];
const withHost = (name: string, containers: readonly object[], spec: object = {}) =>
  podOf(name, containers, { terminationGracePeriodSeconds: 30, ...spec, volumes: [{ name: 'host', hostPath: { path: dir } }] });

async function serve(server: HttpServer): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function serveGrpc(): Promise<number> {
  grpc = new GrpcServer();
  health = new HealthImplementation({ '': 'NOT_SERVING', db: 'SERVING' });
  health.addToServer(grpc);
  return new Promise((resolve, reject) =>
    grpc.bindAsync('0.0.0.0:0', ServerCredentials.createInsecure(), (error, port) => (error ? reject(error) : resolve(port))),
  );
}

const handler: RequestListener = ({ url, headers }, response) => {
  asked.push(`${url} ${headers['user-agent']}`);
  response.writeHead(url === '/secure' ? secureStatus : 200).end();
};

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'berth-e2e-health-'));
  const plain = { host: '127.0.0.1', scheme: 'HTTP', port: await serve(createPlainServer(handler)) };
  const key = await (await createTestPki()).issue('CN=nobody');
  const secure = { host: '127.0.0.1', scheme: 'HTTPS', port: await serve(createSecureServer(key, handler) as HttpServer) };
  const grpcPort = await serveGrpc();
  house = await createPodHouse('health');
  await house.apply(...probed(secure, grpcPort), ...timed(), ...hooked(plain), ...speaking());
});
afterAll(async () => {
  await house?.berth.purge();
  grpc?.forceShutdown();
  for (const server of servers) server.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A page that only a probe with this name may have; httpd takes what a script says for the answer. */
const page = '#!/bin/sh\\n[ "$HTTP_USER_AGENT" = doctor ] || echo "Status: 500 no"\\necho "Content-Type: text/plain"\\necho';
const httpd = `mkdir -p /tmp/www/cgi-bin; printf '${page}' > /tmp/www/cgi-bin/page; chmod 755 /tmp/www/cgi-bin/page; exec httpd -f -p 8080 -h /tmp/www`;

function probed(secure: object, grpcPort: number): object[] {
  const doctor = [{ name: 'User-Agent', value: 'doctor' }];
  return [
    withHost('ready', [script(stay, { volumeMounts, readinessProbe: { ...exec('cat /host/ready'), ...fast } })]),
    withHost(
      'alive',
      [
        script('trap "sleep 10; exit 0" TERM; while :; do sleep 1000 & wait; done', {
          volumeMounts,
          livenessProbe: { ...exec('test ! -e /tmp/sick'), ...fast, terminationGracePeriodSeconds: 3 },
          lifecycle: { preStop: exec('echo stops >> /host/alive') },
        }),
      ],
      { terminationGracePeriodSeconds: 60 },
    ),
    // Its liveness probe would kill it at once, if it did not wait for the other.
    withHost('slow', [
      script(stay, {
        volumeMounts,
        startupProbe: { ...exec('test -e /host/up'), ...fast, failureThreshold: 600 },
        livenessProbe: { ...exec('test -e /host/up'), ...fast, initialDelaySeconds: 1 },
      }),
    ]),
    podOf('never-up', [script(listening, { startupProbe: { ...exec(`${untilItListens}; exit 1`), ...fast } })], {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 30,
    }),
    podOf('web', [
      script(httpd, {
        ports: [{ name: 'web', containerPort: 8080 }],
        startupProbe: { tcpSocket: { port: 'web' }, periodSeconds: 1, failureThreshold: 60 },
        readinessProbe: { httpGet: { path: '/cgi-bin/page', port: 'web', httpHeaders: doctor }, ...fast, successThreshold: 2 },
      }),
      script(stay, { name: 'stranger', readinessProbe: { httpGet: { path: '/cgi-bin/page', port: 8080 }, ...fast } }),
    ]),
    podOf('secure', [script(stay, { readinessProbe: { httpGet: { path: '/secure', ...secure }, ...fast } })]),
    podOf(
      'grpc',
      [
        script(stay, { readinessProbe: { grpc: { port: grpcPort }, ...fast } }),
        script(stay, { name: 'db', readinessProbe: { grpc: { port: grpcPort, service: 'db' }, ...fast } }),
      ],
      { hostNetwork: true },
    ),
    podOf('hung', [script(stay, { readinessProbe: { ...exec('sleep 1234 & sleep 1234; true'), ...fast, timeoutSeconds: 1 } })]),
  ];
}

/** Each notes when it is looked at. */
function timed(): object[] {
  const note = 'date +%s >> /host/timed';
  const slowly = { ...exec('echo begins >> /host/laps; sleep 2; echo ends >> /host/laps'), ...fast };
  return [
    withHost('timed', [
      script(`${note}; ${stay}`, {
        volumeMounts,
        readinessProbe: {
          ...exec(`${note}; test ! -e /host/ill`),
          initialDelaySeconds: 4,
          periodSeconds: 2,
          timeoutSeconds: 10,
          successThreshold: 3,
          failureThreshold: 3,
        },
      }),
    ]),
    withHost('laps', [script(stay, { volumeMounts, readinessProbe: slowly })]),
    podOf('closed', [
      script(stay, { readinessProbe: { tcpSocket: { port: 81 }, ...fast } }),
      script('exec httpd -f -p 82', { name: 'open', readinessProbe: { tcpSocket: { port: 82 }, ...fast } }),
    ]),
  ];
}

/**
 * Made when it is looked at: one that waits is written about every second,
 * and after 25 times its other events are left out, too.
 */
function besides(): object {
  const sidecar = {
    name: 'sidecar',
    restartPolicy: 'Always',
    volumeMounts,
    startupProbe: { ...exec('test -e /host/side-up'), ...fast, failureThreshold: 600 },
    readinessProbe: { ...exec('test -e /host/side-ready'), ...fast },
    livenessProbe: { ...exec('test ! -e /tmp/sick'), ...fast },
  };
  return withHost('beside', [script(stay)], { initContainers: [script(stay, sidecar)] });
}

function hooked(plain: object): object[] {
  const logs = (name: string) => `trap "echo term >> /host/${name}; exit 0" TERM; while :; do sleep 1000 & wait; done`;
  return [
    withHost('hooks', [
      script(logs('hooks'), {
        volumeMounts,
        lifecycle: {
          postStart: exec('echo begins >> /host/hooks; until test -e /host/go; do sleep 0.1; done'),
          preStop: exec('sleep 1; echo stops >> /host/hooks'),
        },
      }),
      script(stay, {
        name: 'behind',
        lifecycle: { postStart: { httpGet: { path: '/begins', ...plain } }, preStop: { httpGet: { path: '/stops', ...plain } } },
      }),
    ]),
    withHost('sleeps', [
      script('trap "date +%s > /host/sleeps; exit 0" TERM; while :; do sleep 1000 & wait; done', {
        volumeMounts,
        lifecycle: { postStart: { sleep: { seconds: 2 } }, preStop: { sleep: { seconds: 2 } } },
      }),
    ]),
    withHost(
      'overlong',
      [
        script('trap "echo term >> /host/overlong; exit 0" TERM; while :; do sleep 1000 & wait; done', {
          volumeMounts,
          lifecycle: { preStop: exec('echo stops >> /host/overlong; sleep 100; echo never >> /host/overlong') },
        }),
      ],
      { terminationGracePeriodSeconds: 4 },
    ),
    podOf('bad-start', [script(listening, { lifecycle: { postStart: exec(`${untilItListens}; exit 3`) } })], {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 30,
    }),
    podOf('bad-stop', [script(stay, { lifecycle: { preStop: exec('exit 4') } })], { terminationGracePeriodSeconds: 30 }),
    withHost(
      'signal',
      [
        script('trap "echo usr1 > /host/signal; exit 0" USR1; touch /tmp/listens; while :; do sleep 1000 & wait; done', {
          volumeMounts,
          lifecycle: { postStart: exec(untilItListens), stopSignal: 'SIGUSR1' },
        }),
      ],
      { os: { name: 'linux' } },
    ),
  ];
}

function speaking(): object[] {
  const user = { securityContext: { runAsUser: 1000, readOnlyRootFilesystem: true } };
  const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' };
  return [
    podOf(
      'words',
      [
        script('echo done > /dev/termination-log', { name: 'file' }),
        script('echo own > /tmp/words; exit 1', { name: 'path', terminationMessagePath: '/tmp/words', ...user }),
        script('seq 1 100; exit 1', { name: 'log', ...fallback }),
        script('echo quiet; exit 1', { name: 'quiet' }),
        script('head -c 5000 /dev/zero | tr "\\0" x > /dev/termination-log', { name: 'long', ...fallback }),
      ],
      { restartPolicy: 'Never' },
    ),
    podOf('again', [script('echo bye > /dev/termination-log; exit 1')], { restartPolicy: 'OnFailure' }),
  ];
}

const isReady = (ready: boolean, name?: string) => (pod: PodJson) => containerOf(pod, name).ready === ready;
const hasStatus = (pod: PodJson) => pod.status.containerStatuses?.[0]?.state.running !== undefined;

describe('a readiness probe', () => {
  it('makes a pod ready and unready, with the reason', async () => {
    const pod = await house.until('ready', 'runs and is not ready', (each) => hasStatus(each) && isReady(false)(each));
    expect(conditionOf(pod, 'ContainersReady')).toMatchObject({ status: 'False', reason: 'ContainersNotReady' });
    expect(await told('ready', 'Unhealthy')).toBe(
      "Warning Unhealthy: Readiness probe failed: cat: can't open '/host/ready': No such file or directory\n",
    );
    writeFileSync(file('ready'), 'yes');
    await house.running('ready');
    rmSync(file('ready'));
    const again = await house.until('ready', 'is not ready again', isReady(false));
    expect(containerOf(again).restartCount).toBe(0);
  });

  it('over HTTP uses a named port and its own headers', async () => {
    const pod = await house.until('web', 'is ready', (each) => hasStatus(each) && isReady(true, 'main')(each));
    expect(isReady(false, 'stranger')(pod)).toBe(true);
    expect(await told('web', 'statuscode')).toBe(
      'Warning Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 500',
    );
  });

  it('over HTTPS works at another address without verifying the certificate', async () => {
    await told('secure', 'HTTP probe failed with statuscode: 503');
    secureStatus = 200;
    await house.running('secure');
    expect(asked).toContain('/secure kube-probe/1.36');
  });

  it('over gRPC checks a server or one of its services', async () => {
    await house.until('grpc', 'has one container ready', (each) => hasStatus(each) && isReady(true, 'db')(each));
    await told('grpc', 'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")');
    health.setStatus('', 'SERVING');
    await house.running('grpc');
  });

  it('over TCP succeeds when the port is open', async () => {
    await house.until('closed', 'has one container ready', (each) => hasStatus(each) && isReady(true, 'open')(each));
    expect(await told('closed', 'Readiness probe failed')).toMatch(
      /^Warning Unhealthy: Readiness probe failed: dial tcp [0-9.]+:81: connect: connection refused$/,
    );
  });

  it('respects initialDelaySeconds and both thresholds', async () => {
    const pod = await house.running('timed');
    const times = () => read('timed').trim().split('\n').map(Number);
    // The first line is the container's own; they are whole seconds.
    // How far apart the others are is a matter of the machine's load.
    const [start = 0, first = 0, , third = 0] = times();
    expect(first - start).toBeGreaterThanOrEqual(3);
    const readyAt = Date.parse(conditionOf(pod, 'Ready')?.lastTransitionTime ?? '') / 1000;
    expect(readyAt).toBeGreaterThanOrEqual(third);
    writeFileSync(file('ill'), '');
    const before = times().length;
    await house.until('timed', 'is not ready', isReady(false));
    // One of the three may have begun before.
    expect(times().length - before).toBeGreaterThanOrEqual(2);
  });

  it('that takes longer than its period never runs twice at the same time', async () => {
    const laps = await eventually('it was asked often', async () => {
      const lines = read('laps').trim().split('\n');
      return lines.length >= 8 ? lines : undefined;
    });
    expect(laps).toEqual(laps.map((_, i) => (i % 2 === 0 ? 'begins' : 'ends')));
    expect(isReady(true)(await house.pod('laps'))).toBe(true);
  });

  it('that hangs fails at its timeout, and its processes are killed', async () => {
    expect(await told('hung', 'timed out')).toBe(
      'Warning Unhealthy: Readiness probe failed: command timed out: "sh -c sleep 1234 & sleep 1234; true" timed out after 1s',
    );
    // At most one that runs now, with its two children.
    await eventually('only the newest is there', async () => {
      const lines = (await house.sh('hung', 'ps')).split('\n').filter((line) => line.includes('1234'));
      return lines.length <= 3 || undefined;
    });
  });
});

describe('a startup probe', () => {
  it('holds back the others until the container has started', async () => {
    const pod = await house.until('slow', 'runs', hasStatus);
    expect(containerOf(pod)).toMatchObject({ started: false, ready: false });
    await told('slow', 'Startup probe failed');
    writeFileSync(file('up'), '');
    const up = await house.running('slow');
    expect(containerOf(up)).toMatchObject({ started: true, restartCount: 0 });
    expect((await messages('slow')).filter((line) => line.includes('Liveness'))).toEqual([]);
  });

  it('that never succeeds ends the container', async () => {
    const pod = await house.until('never-up', 'has ended', ({ status }) => status.phase === 'Succeeded');
    expect(containerOf(pod).restartCount).toBe(0);
    await told('never-up', 'Normal Killing: Container main failed startup probe');
  });
});

describe('a liveness probe', () => {
  it('restarts a failing container after its preStop hook, within the grace period of the probe', async () => {
    await house.running('alive');
    await house.sh('alive', 'touch /tmp/sick');
    const pod = await house.until(
      'alive',
      'was restarted',
      (each) => containerOf(each).restartCount === 1 && isReady(true)(each),
    );
    // With the pod's grace period it would have ended by itself, with 0.
    expect(containerOf(pod).lastState?.terminated?.exitCode).toBe(137);
    expect(read('alive')).toBe('stops\n');
    await told('alive', 'Normal Killing: Container main failed liveness probe, will be restarted');
  });
});

describe('the probes of a sidecar', () => {
  const sidecarOf = (pod: PodJson) => pod.status.initContainerStatuses?.[0];

  it('hold back what comes behind it, decide with the others about the pod, and restart it', async () => {
    await house.apply(besides());
    const waits = await house.until('beside', 'has a sidecar that runs', (each) => sidecarOf(each)?.state.running !== undefined);
    expect(sidecarOf(waits)).toMatchObject({ started: false, ready: false });
    expect(containerOf(waits).state.waiting?.reason).toBe('PodInitializing');
    writeFileSync(file('side-up'), '');
    const unready = await house.until('beside', 'runs', (each) => hasStatus(each) && isReady(true)(each));
    expect(sidecarOf(unready)).toMatchObject({ started: true, ready: false });
    expect(conditionOf(unready, 'ContainersReady')?.status).toBe('False');
    writeFileSync(file('side-ready'), '');
    await house.running('beside');
    await house.sh('beside', 'touch /tmp/sick', 'sidecar');
    const again = await house.until(
      'beside',
      'has its sidecar again',
      (each) => sidecarOf(each)?.restartCount === 1 && sidecarOf(each)?.ready === true,
    );
    expect(containerOf(again).restartCount).toBe(0);
    await told('beside', 'Normal Killing: Container sidecar failed liveness probe, will be restarted');
  });
});

describe('hooks', () => {
  it('hold back their container and those behind it until postStart has ended', async () => {
    await written('hooks', 'begins');
    const pod = await house.pod('hooks');
    expect(pod.status.phase).toBe('Pending');
    expect(containerOf(pod).state.waiting?.reason).toBe('ContainerCreating');
    expect(asked.filter((line) => line.startsWith('/begins'))).toEqual([]);
    writeFileSync(file('go'), '');
    await house.running('hooks');
    expect(asked.filter((line) => line.startsWith('/begins'))).toHaveLength(1);
    await house.berth.ok('delete', 'pod', 'hooks');
    expect(read('hooks')).toBe('begins\nstops\nterm\n');
    expect(asked.filter((line) => line.startsWith('/stops'))).toHaveLength(1);
  });

  it('may sleep', async () => {
    const pod = await house.running('sleeps');
    const startedAt = Date.parse(containerOf(pod).state.running?.startedAt ?? '');
    const readyAt = Date.parse(conditionOf(pod, 'Ready')?.lastTransitionTime ?? '');
    expect(readyAt - startedAt).toBeGreaterThanOrEqual(2_000);
    const deletedAt = Date.now();
    await house.berth.ok('delete', 'pod', 'sleeps');
    expect(Number(read('sleeps')) * 1000).toBeGreaterThan(deletedAt + 1_000);
  });

  it('before the end have no more time than the grace period, and the container is told to end all the same', async () => {
    await house.running('overlong');
    const since = Date.now();
    await house.berth.ok('delete', 'pod', 'overlong');
    const seconds = (Date.now() - since) / 1000;
    expect(read('overlong')).toBe('stops\nterm\n');
    expect(seconds).toBeGreaterThan(3.5);
    // The hook would take 100.
    expect(seconds).toBeLessThan(60);
  });

  it('that fail say so: after postStart the container ends, before the end nothing is held up', async () => {
    const pod = await house.until('bad-start', 'has ended', ({ status }) => status.phase === 'Succeeded');
    expect(containerOf(pod).state.terminated).toBeDefined();
    await told('bad-start', 'Warning FailedPostStartHook: PostStartHook failed: the command exited with 3');
    await told('bad-start', 'Normal Killing: FailedPostStartHook');
    await house.running('bad-stop');
    await house.berth.ok('delete', 'pod', 'bad-stop');
    await told('bad-stop', 'Warning FailedPreStopHook: PreStopHook failed: the command exited with 4');
  });

  it('leave the signal to end to the container', async () => {
    const pod = await house.running('signal');
    expect(containerOf(pod)).toMatchObject({ stopSignal: 'SIGUSR1' });
    await house.berth.ok('delete', 'pod', 'signal');
    expect(read('signal')).toBe('usr1\n');
  });
});

describe('the termination message of a container', () => {
  it('are in its status and in describe', async () => {
    const pod = await house.until('words', 'has ended', ({ status }) => status.phase === 'Failed');
    const said = Object.fromEntries(
      (pod.status.containerStatuses ?? []).map(({ name, state }) => [name, state.terminated?.message]),
    );
    expect(said).toMatchObject({ file: 'done\n', path: 'own\n', quiet: undefined });
    expect(said.log?.split('\n').slice(0, 2)).toEqual(['21', '22']);
    // An equal share of 12 KiB for each of five containers.
    expect(said.long).toBe('x'.repeat(2457));
    expect(await house.berth.ok('describe', 'pod', 'words')).toMatch(/Message:\s+done/);
  });

  it('stay when it is restarted', async () => {
    const pod = await house.until(
      'again',
      'was restarted',
      (each) => (each.status.containerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    expect(containerOf(pod).lastState?.terminated?.message).toBe('bye\n');
  });
});

// The last: it may run hooks a second time that were under way.
describe('an agent that is killed', () => {
  it('takes over with what was said, and its probes go on', async () => {
    const before = await house.running('secure');
    process.kill(house.berth.pid('agent'), 'SIGKILL');
    writeFileSync(file('ready'), 'yes');
    await house.running('ready');
    const after = await house.pod('secure');
    expect(containerOf(after)).toEqual(containerOf(before));
    expect(conditionOf(after, 'Ready')).toEqual(conditionOf(before, 'Ready'));
  });
});
