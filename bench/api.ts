import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeMessage } from '../api/codec/message.ts';
import type { Pod } from '../client/index.ts';
import { type BenchServer, startServer } from './berth.ts';
import { type Figure, note } from './figure.ts';
import { cpuSeconds } from './process-costs.ts';

const creates = 20_000;
const gets = 60_000;
const warmUp = 4_000;

/**
 * `npm run bench -- api`: unary creates and gets of a typical pod, 64 at once over TLS, with the server's processor time for each. The load
 * comes from Debian's h2load with prepared requests (package nghttp2-client): a client in Node.js would measure itself.
 */
export async function benchApi(say: (text: string) => void): Promise<Figure[]> {
  // Without the loops that would react to every pod with writes of their own.
  const server = await startServer('--no-scheduler', '--no-controllers');
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-api-'));
  try {
    const load = async (method: string, request: Buffer, count: number): Promise<{ rate: number; cpu: number }> => {
      const file = join(folder, method);
      writeFileSync(file, frame(request));
      const before = cpuSeconds([server.server.pid!]);
      const rate = await h2load(server, `/berth.core.v1.Pods/${method}`, file, count);
      const cpu = (cpuSeconds([server.server.pid!]) - before) / count;
      say(
        `${method}: ${count} calls, ${rate.toFixed(0)}/s, ${(cpu * 1e6).toFixed(0)} microseconds of the server's processor each`,
      );
      return { rate, cpu };
    };
    const object = typicalPod();
    const create = encodeMessage('berth.core.v1.PodWriteRequest', { object });
    await load('Create', create, warmUp);
    const created = await load('Create', create, creates);
    await expectPods(server, warmUp + creates);
    await server.client.pods.create({ ...object, metadata: { ...object.metadata, generateName: undefined, name: 'one' } } as Pod);
    const get = encodeMessage('berth.meta.v1.GetRequest', { namespace: 'default', name: 'one' });
    await load('Get', get, warmUp);
    const read = await load('Get', get, gets);
    return [
      note('bytes of the pod', encodeMessage('berth.core.v1.Pod', object).length, 'bytes'),
      note('creates, 64 at once', created.rate, '1/s'),
      note("server's processor for a create", created.cpu * 1e6, 'microseconds'),
      note('gets, 64 at once', read.rate, '1/s'),
      note("server's processor for a get", read.cpu * 1e6, 'microseconds'),
    ];
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A gRPC message on the wire: not compressed, its length, its bytes. */
function frame(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Runs h2load to its end; gives calls in a second. It does not look into answers: whoever calls checks what they did. */
async function h2load({ admin, token }: BenchServer, path: string, body: string, count: number): Promise<number> {
  const headers = ['content-type: application/grpc', 'te: trailers', `authorization: Bearer ${token}`];
  const args = ['-n', String(count), '-c', '4', '-m', '16', '-d', body, ...headers.flatMap((header) => ['-H', header])];
  const child = spawn('h2load', [...args, `https://${admin.address}${path}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Error(`h2load does not run (${cause.message}); install it: apt-get install nghttp2-client`)),
    );
    child.once('close', () => resolve());
  });
  const rate = Number(text.match(/finished in [^,]+, ([\d.]+) req\/s/)?.[1]);
  if (!text.includes(`${count} succeeded`) || !(rate > 0)) throw new Error(`h2load ${path}: ${text}`);
  return rate;
}

async function expectPods({ client }: BenchServer, count: number): Promise<void> {
  let [found, token]: [number, string | undefined] = [0, undefined];
  do {
    const page = await client.pods.list({ namespace: 'default', ...(token === undefined ? {} : { continue: token }) });
    found += page.items.length;
    token = page.metadata.continue || undefined;
  } while (token !== undefined);
  if (found !== count) throw new Error(`${found} of ${count} pods were created`);
}

/** About 1 KB when encoded and complete, as people's pods are. */
function typicalPod(): Pod {
  const quantity = (string: string) => ({ string });
  return {
    metadata: {
      generateName: 'web-',
      namespace: 'default',
      labels: { app: 'web', tier: 'frontend', 'app.kubernetes.io/name': 'web', 'app.kubernetes.io/part-of': 'shop' },
      annotations: { 'example.com/owner': 'the team that runs the shop', 'example.com/revision': '4f2c9e1' },
    },
    spec: {
      containers: [
        {
          name: 'web',
          image: 'registry.example.com/shop/web:1.24.3',
          command: ['/usr/bin/web', '--listen', '0.0.0.0:8080'],
          ports: [{ name: 'http', containerPort: 8080 }],
          env: [
            { name: 'LOG_LEVEL', value: 'info' },
            { name: 'DATABASE_HOST', value: 'db.shop.svc' },
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
          resources: { requests: { cpu: quantity('100m'), memory: quantity('128Mi') }, limits: { memory: quantity('256Mi') } },
          volumeMounts: [{ name: 'cache', mountPath: '/var/cache/web' }],
        },
      ],
      volumes: [{ name: 'cache', volumeSource: { emptyDir: {} } }],
      nodeSelector: { 'kubernetes.io/os': 'linux' },
    },
  };
}
