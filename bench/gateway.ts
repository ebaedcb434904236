import { Agent, get as httpsGet } from 'node:https';
import { performance } from 'node:perf_hooks';
import { toJson } from '../api/codec/json.ts';
import { encodeMessage } from '../api/codec/message.ts';
import { pod } from '../api/kinds/pod/kind.ts';
import { getOne, storedPod } from './api/bare.ts';
import { type Load, loadTarget, runLoad } from './api/h2load.ts';
import { LeanConnection } from './api/lean-connection.ts';
import { listPods } from './api/pod-lists.ts';
import { PodWriter } from './api/pod-writer.ts';
import { typicalPod } from './api/typical-pod.ts';
import { type BenchServer, startServer } from './berth.ts';
import { atLeast, atMost, type Figure, median, note } from './figure.ts';

const kubernetes = '127.0.0.1:7555';
const rounds = 3;
const creates = 3_000;
const gets = 8_000;
const warmUp = 3_000;
const podCount = 5_000;
const lists = 15;

/** Shares of what the gRPC door does in the same run. */
const leastCalls = 0.75;
const mostJsonList = 3;
const mostProtobufList = 1.3;
/** Of the time of the whole list. */
const mostFirstByte = 0.2;

/** `npm run bench -- gateway`: Kubernetes' HTTP API beside the gRPC door of the same server, in turns. */
export async function benchGateway(say: (text: string) => void): Promise<Figure[]> {
  const server = await startServer('--no-scheduler', '--no-controllers', '--kubernetes-listen', kubernetes);
  try {
    const ofLists = await benchLists(server, say);
    await storedPod(server);
    return [...ofLists, ...(await benchCalls(server, say))];
  } finally {
    await server.stop();
  }
}

interface Rates {
  readonly http: number;
  readonly grpc: number;
  readonly ratio: number;
}

/** In turns, so that a machine that drifts is the same for both; the first round of each warms up. */
async function compared(server: BenchServer, http: Load, grpc: Load): Promise<Rates> {
  const own = loadTarget(server);
  const door = { ...own, address: kubernetes };
  await runLoad(door, { ...http, count: warmUp });
  await runLoad(own, { ...grpc, count: warmUp });
  const [others, ours]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    ours.push((await runLoad(door, http)).rate);
    others.push((await runLoad(own, grpc)).rate);
  }
  return { http: median(ours), grpc: median(others), ratio: median(ours.map((rate, at) => rate / others[at]!)) };
}

async function benchCalls(server: BenchServer, say: (text: string) => void): Promise<Figure[]> {
  const pods = '/api/v1/namespaces/default/pods';
  const none = Buffer.alloc(0);
  const object = Buffer.from(JSON.stringify(toJson(pod, typicalPod())));
  const request = encodeMessage('berth.core.v1.PodWriteRequest', { object: typicalPod() });
  const read = await compared(
    server,
    { path: `${pods}/one`, request: none, count: gets, isJson: true },
    { path: '/berth.core.v1.Pods/Get', request: getOne, count: gets },
  );
  say(`gets: ${read.http.toFixed(0)}/s, gRPC ${read.grpc.toFixed(0)}/s`);
  const made = await compared(
    server,
    { path: pods, request: object, count: creates, isJson: true },
    { path: '/berth.core.v1.Pods/Create', request, count: creates },
  );
  say(`creates: ${made.http.toFixed(0)}/s, gRPC ${made.grpc.toFixed(0)}/s`);
  return [
    atLeast('JSON gets, 64 at once, to gRPC', read.ratio, 'x', leastCalls),
    note('JSON gets', read.http, '1/s'),
    atLeast('JSON creates, 64 at once, to gRPC', made.ratio, 'x', leastCalls),
    note('JSON creates', made.http, '1/s'),
  ];
}

async function benchLists(server: BenchServer, say: (text: string) => void): Promise<Figure[]> {
  const target = { address: server.admin.address, ca: String(server.admin.ca), token: server.token };
  const writer = await PodWriter.open(target, podCount);
  await writer.flatOut(64, podCount);
  writer.close();
  const connection = await LeanConnection.open(target);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: target.ca });
  const [json, protobuf, grpc]: [Times[], Times[], number[]] = [[], [], []];
  for (let round = -3; round < lists; round++) {
    const each = [await timedList(server, agent, 'application/json'), await timedList(server, agent, protobufType)] as const;
    const { items, allMs } = await listPods(connection);
    if (items !== podCount) throw new Error(`a list had ${items} pods instead of ${podCount}`);
    if (round < 0) continue;
    json.push(each[0]);
    protobuf.push(each[1]);
    grpc.push(allMs);
  }
  agent.destroy();
  connection.close();
  const all = (times: readonly Times[]): number => median(times.map(({ allMs }) => allMs));
  say(`lists: JSON ${all(json).toFixed(0)} ms, protobuf ${all(protobuf).toFixed(0)} ms, gRPC ${median(grpc).toFixed(0)} ms`);
  const name = `list of ${podCount} pods`;
  return [
    atMost(`JSON ${name} to gRPC's`, all(json) / median(grpc), 'x', mostJsonList),
    atMost(`first byte of a JSON ${name}, of the whole`, median(json.map((t) => t.firstMs / t.allMs)), 'x', mostFirstByte),
    atMost(`protobuf ${name} to gRPC's`, all(protobuf) / median(grpc), 'x', mostProtobufList),
    note(`JSON ${name}`, all(json), 'ms'),
    note(`gRPC ${name}`, median(grpc), 'ms'),
  ];
}

const protobufType = 'application/vnd.kubernetes.protobuf';

interface Times {
  readonly firstMs: number;
  readonly allMs: number;
}

/** Looks at nothing that comes but its time. */
function timedList({ token }: BenchServer, agent: Agent, accept: string): Promise<Times> {
  const begin = performance.now();
  const headers = { accept, authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    let firstMs = 0;
    const call = httpsGet(`https://${kubernetes}/api/v1/namespaces/default/pods`, { agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`a list was answered with ${response.statusCode}`));
      response.on('data', () => {
        firstMs ||= performance.now() - begin;
      });
      response.once('end', () => resolve({ firstMs, allMs: performance.now() - begin }));
    });
    call.once('error', reject);
  });
}
