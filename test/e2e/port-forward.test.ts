import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { connect, createServer, type Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually, freePort } from './installation.ts';
import { createPodHouse, image, type PodHouse } from './pods-fixture.ts';

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
let house: PodHouse;
let hostPort: number;

const pod = (name: string, script: string, spec: object = {}, ports: object[] = []) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'app', image, imagePullPolicy: 'Never', command: ['sh', '-c', script], ports }],
    ...spec,
  },
});

const pages = 'mkdir -p /www; echo the page > /www/index.html; head -c 8000000 /dev/urandom > /www/big; ';

beforeAll(async () => {
  house = await createPodHouse('forward');
  hostPort = await freePort();
  await house.apply(
    pod('web', `${pages} httpd -p 8080 -h /www; httpd -p 127.0.0.1:8081 -h /www; exec nc -ll -p 9000 -e cat`, {}, [
      { name: 'http', containerPort: 8080 },
      { name: 'dns', containerPort: 53, protocol: 'UDP' },
    ]),
    pod('host', `${pages} exec httpd -f -p 127.0.0.1:${hostPort} -h /www`, { hostNetwork: true }),
    pod('later', 'exec sleep 1000', { nodeSelector: { no: 'such-node' } }),
    pod('brief', 'mkdir -p /www; exec httpd -f -p 8080 -h /www'),
  );
  for (const name of ['web', 'host', 'brief']) await house.running(name);
  await eventually('the pages are there', async () =>
    (await house.sh('web', 'wget -qO- http://127.0.0.1:8081/')) ? true : undefined,
  );
});
afterAll(async () => house?.berth.purge());

interface Forward {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The local port that leads to a port of the pod. */
  port(remote: number): Promise<number>;
  readonly ended: Promise<number | null>;
}

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

function forward(...args: string[]): Forward {
  const env = { ...process.env, BERTH_CONFIG: house.berth.config };
  const child = spawn(process.execPath, [launcher, 'port-forward', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => (stdout += data));
  child.stderr.on('data', (data: Buffer) => (stderr += data));
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended: new Promise((resolve) => child.on('close', resolve)),
    port: (remote) =>
      eventually(`port ${remote} is forwarded`, async () => {
        if (child.exitCode !== null) throw new Error(`berth port-forward has ended: ${stderr}`);
        const [, port] = new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${remote}\n`).exec(stdout) ?? [];
        return port === undefined ? undefined : Number(port);
      }),
  };
}

const page = async (port: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })).text();

describe('port-forward', () => {
  it("says what it forwards, in kubectl's words, and ends with Ctrl-C", async () => {
    const local = await freePort();
    const it = forward('pod/web', `${local}:8080`);
    expect(await it.port(8080)).toBe(local);
    expect(await page(local)).toBe('the page\n');
    expect(it.stdout()).toContain(`Handling connection for ${local}\n`);
    it.child.kill('SIGINT');
    expect(await it.ended).toBe(0);
    expect(it.stderr()).toBe('');
  });

  it('reaches what listens on the loopback address of the pod only, on any free port here', async () => {
    const it = forward('web', ':8081', ':http');
    expect(await page(await it.port(8081))).toBe('the page\n');
    expect(await page(await it.port(8080))).toBe('the page\n');
  });

  it('leads to a ready pod of a service, by the ports of the service', async () => {
    const ready = { exec: { command: ['test', '-e', '/www/index.html'] }, periodSeconds: 1 };
    const labels = { app: 'shop' };
    const listening = [{ name: 'web', containerPort: 8080 }];
    const shop = (name: string, script: string) => {
      const made = pod(name, script, {}, listening);
      const containers = made.spec.containers.map((each) => ({ ...each, readinessProbe: ready }));
      return { ...made, metadata: { name, labels }, spec: { ...made.spec, containers } };
    };
    await house.apply(shop('shop-not', 'exec sleep 1000'), shop('shop-yes', `${pages} exec httpd -f -p 8080 -h /www`), {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'shop' },
      spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 'web' }] },
    });
    await house.berth.ok('wait', '--for=condition=Ready', 'pod/shop-yes');
    for (const port of [':80', ':http']) {
      const it = forward('svc/shop', port);
      expect(await page(await it.port(8080))).toBe('the page\n');
      expect(it.stderr()).toBe('Found 2 pods, using pod/shop-yes\n');
    }
    await house.berth.ok('delete', 'pod', 'shop-yes');
    const unready = forward('svc/shop', ':80');
    await unready.port(8080);
    expect(unready.stderr()).toBe(
      'Warning: pod/shop-not is not ready: 1 pod not ready: container "app" runs and does not pass its readiness probe\n',
    );
  });

  it('reaches a pod that uses the network of its node', async () => {
    expect(await page(await forward('host', `:${hostPort}`).port(hostPort))).toBe('the page\n');
  });

  it('brings a large answer whole, many at once', async () => {
    const port = await forward('web', ':8080').port(8080);
    const [wanted] = (await house.sh('web', 'md5sum /www/big')).split(' ');
    const answers = await Promise.all(
      Array.from({ length: 4 }, async () => Buffer.from(await (await fetch(`http://127.0.0.1:${port}/big`)).arrayBuffer())),
    );
    for (const answer of answers) expect(createHash('md5').update(answer).digest('hex')).toBe(wanted);
  });

  it('keeps the way back open when the way there has ended', async () => {
    const port = await forward('web', ':9000').port(9000);
    const data = Buffer.alloc(2_000_000, 'there and back ');
    const back = await new Promise<Buffer>((resolve, reject) => {
      const parts: Buffer[] = [];
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('data', (part: Buffer) => parts.push(part));
      socket.on('end', () => resolve(Buffer.concat(parts)));
      socket.on('error', reject);
      socket.end(data);
    });
    expect(back.equals(data)).toBe(true);
  });

  it('tells of a connection that is refused in the pod, and goes on', async () => {
    const it = forward('web', ':9999', ':8080');
    const port = await it.port(9999);
    await expect(page(port)).rejects.toThrow();
    const told = `connect to port 9999 of pod "web": connection refused; nothing listens on it\n`;
    await eventually('it is told', async () =>
      it.stderr() === `error: an error occurred forwarding ${port} -> 9999: ${told}` ? true : undefined,
    );
    expect(await page(await it.port(8080))).toBe('the page\n');
  });

  it('survives a restart of the server and of the agent for new connections', async () => {
    const it = forward('web', ':8080');
    const port = await it.port(8080);
    for (const name of ['server', 'agent'] as const) {
      expect(await page(port)).toBe('the page\n');
      process.kill(house.berth.pid(name), 'SIGKILL');
      await eventually(`the ${name} is back`, async () => ((await page(port)) === 'the page\n' ? true : undefined));
    }
    expect(it.child.exitCode).toBeNull();
  });

  it('ends when the pod is gone', async () => {
    const it = forward('brief', ':8080');
    const port = await it.port(8080);
    await house.berth.ok('delete', 'pod', 'brief');
    await expect(page(port)).rejects.toThrow();
    expect(await it.ended).toBe(1);
    expect(it.stderr()).toBe('error: lost connection to pod: pod "brief" in namespace "default" not found\n');
  });

  it('answers wrong ports, ports that are taken, and pods that do not run', async () => {
    const taken: Server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { port: number };
    const refused = async (...args: string[]) => {
      const { code, stderr } = await house.berth.berth(['port-forward', ...args]);
      expect(code).toBe(1);
      return stderr;
    };
    expect(await refused('--address', '127.0.0.1', 'web', `${port}:8080`)).toMatch(
      new RegExp(`^error: unable to listen on port ${port}: 127.0.0.1: something else listens there`),
    );
    taken.close();
    expect(await refused('web', '8080:http:1')).toMatch(/^error: "8080:http:1" is not a port/);
    expect(await refused('web', '99999')).toMatch(/^error: "99999" is not a port/);
    expect(await refused('web', ':web')).toBe('error: pod "web" does not have a named port "web"\n');
    expect(await refused('web', ':dns')).toBe('error: port "dns" of pod "web" is UDP; only TCP can be forwarded\n');
    expect(await refused('later', '8080')).toMatch(
      /^error: unable to forward port because pod is not running. Current status=Pending: 1 pod unschedulable: .* \(pod\/later\)\n$/,
    );
    expect(await refused(`node/${house.berth.nodeName}`, '80')).toMatch(/^error: a node has no pods: name a pod/);
  });
});
