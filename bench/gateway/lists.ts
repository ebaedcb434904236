import { performance } from 'node:perf_hooks';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { LeanConnection, type LeanTarget } from '../api/lean-connection.ts';
import { listPods } from '../api/pod-lists.ts';
import { atMost, type Figure, inParallel, median, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { type BothDoors, withBothDoors } from './both-doors.ts';
import { realisticPod, runningStatus } from './realistic-pod.ts';

const podCount = 5_000;
const lists = 15;
const warmUp = 5;
/** Times of the gRPC list of the same run. */
const mostJson = 3;
const mostProtobuf = 1.3;
/** A table has fewer bytes than the objects, and its cells are computed from decoded objects. */
const mostTable = 6;
/** Of the time of the whole list. */
const mostFirstByte = 0.2;

const path = '/api/v1/namespaces/default/pods';
const json = 'application/json';
const protobuf = 'application/vnd.kubernetes.protobuf';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

interface Times {
  readonly firstMs: number;
  readonly allMs: number;
  readonly bytes: number;
}

/** With what the server's processor worked for it. */
interface Measured extends Times {
  readonly cpuMs: number;
}

/** Lists of 5,000 pods as clusters have them, in every form, in turns. */
export function benchLists(say: (text: string) => void): Promise<Figure[]> {
  return withBothDoors(async (doors) => {
    await makePods(doors);
    const [grpc, http2] = await Promise.all([LeanConnection.open(doors.grpc), LeanConnection.open(doors.http)]);
    const http1 = await openHttp1(doors.http);
    const pid = doors.berth.server.pid!;
    const ways: Readonly<Record<string, () => Promise<Times>>> = {
      grpc: async () => {
        const { items, firstMs, allMs, answers } = await listPods(grpc);
        if (items !== podCount) throw new Error(`a list had ${items} pods instead of ${podCount}`);
        return { firstMs, allMs, bytes: answers.reduce((sum, { length }) => sum + length, 0) };
      },
      json: () => listHttp2(http2, json),
      'json over HTTP/1.1': () => listHttp1(http1, doors.http, json),
      protobuf: () => listHttp2(http2, protobuf),
      table: () => listHttp2(http2, table),
    };
    const times = Object.fromEntries(Object.keys(ways).map((way) => [way, [] as Measured[]]));
    for (let round = -warmUp; round < lists; round++) {
      for (const [way, list] of Object.entries(ways)) {
        const before = cpuSeconds([pid]);
        const each = await list();
        if (round >= 0) times[way]!.push({ ...each, cpuMs: (cpuSeconds([pid]) - before) * 1_000 });
      }
    }
    for (const connection of [grpc, http2]) connection.close();
    http1.destroy();
    for (const way of Object.keys(ways))
      say(
        `${way}: ${ms(times[way]!).toFixed(1)} ms, ${cpuMs(times[way]!).toFixed(1)} ms of the server's processor, ` +
          `for ${(times[way]![0]!.bytes / 1e6).toFixed(1)} MB`,
      );
    return figuresOf(times);
  });
}

const ms = (times: readonly Times[]): number => median(times.map(({ allMs }) => allMs));

/** The mean: the system counts in hundredths of a second. */
const cpuMs = (times: readonly Measured[]): number => times.reduce((sum, each) => sum + each.cpuMs, 0) / times.length;

function figuresOf(times: Readonly<Record<string, readonly Measured[]>>): Figure[] {
  const whole = `list of ${podCount} pods`;
  const ratio = (way: string): number => median(times[way]!.map(({ allMs }, at) => allMs / times.grpc![at]!.allMs));
  const first = (way: string): number => median(times[way]!.map(({ firstMs, allMs }) => firstMs / allMs));
  return [
    atMost(`JSON ${whole} to gRPC's`, ratio('json'), 'x', mostJson),
    atMost(`JSON ${whole} over HTTP/1.1 to gRPC's`, ratio('json over HTTP/1.1'), 'x', mostJson),
    atMost(`first byte of a JSON ${whole}, of the whole`, first('json'), 'x', mostFirstByte),
    atMost(`protobuf ${whole} to gRPC's`, ratio('protobuf'), 'x', mostProtobuf),
    atMost(`table ${whole} to gRPC's`, ratio('table'), 'x', mostTable),
    note(`JSON ${whole}`, ms(times.json!), 'ms'),
    note(`gRPC ${whole}`, ms(times.grpc!), 'ms'),
    note(`server's processor for a JSON ${whole}`, cpuMs(times.json!), 'ms'),
    note(`server's processor for a gRPC ${whole}`, cpuMs(times.grpc!), 'ms'),
  ];
}

async function makePods({ berth: { client } }: BothDoors): Promise<void> {
  await inParallel(podCount, 64, async (number) => {
    const name = `pod-${String(number).padStart(8, '0')}`;
    const made = await client.pods.create(realisticPod(name));
    await client.pods.updateStatus({ ...made, status: runningStatus(number) });
  });
}

/** Looks at nothing that comes but its time. */
function listHttp2(connection: LeanConnection, accept: string): Promise<Times> {
  const begin = performance.now();
  return new Promise((resolve) => {
    let [firstMs, bytes] = [0, 0];
    connection.get(path, accept, {
      data: (part) => {
        firstMs ||= performance.now() - begin;
        bytes += part.length;
      },
      end: () => resolve({ firstMs, allMs: performance.now() - begin, bytes: whole(bytes) }),
    });
  });
}

function openHttp1({ address, ca }: LeanTarget): Promise<TLSSocket> {
  const [host, port] = address.split(':') as [string, string];
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host, port: Number(port), ca, ALPNProtocols: ['http/1.1'] }, () => resolve(socket));
    socket.once('error', reject);
  });
}

const lastChunk = Buffer.from('\r\n0\r\n\r\n');

/** The answer comes in chunks; Node's own client costs more than the server. */
function listHttp1(socket: TLSSocket, { token, address }: LeanTarget, accept: string): Promise<Times> {
  const begin = performance.now();
  return new Promise((resolve) => {
    let [firstMs, bytes] = [0, 0];
    let end = Buffer.alloc(0);
    const take = (part: Buffer): void => {
      firstMs ||= performance.now() - begin;
      bytes += part.length;
      end = Buffer.concat([end, part.subarray(-lastChunk.length)]).subarray(-lastChunk.length);
      if (!end.equals(lastChunk)) return;
      socket.removeListener('data', take);
      resolve({ firstMs, allMs: performance.now() - begin, bytes: whole(bytes) });
    };
    socket.on('data', take);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${address}\r\naccept: ${accept}\r\nauthorization: Bearer ${token}\r\n\r\n`);
  });
}

/** An answer that is an error is short. */
function whole(bytes: number): number {
  if (bytes < 100 * podCount) throw new Error(`a list had ${bytes} bytes, too few for ${podCount} pods`);
  return bytes;
}
