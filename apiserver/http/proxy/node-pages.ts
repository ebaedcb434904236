import { jsonBytes } from '../../../api/codec/json-bytes.ts';
import { WireReader } from '../../../api/codec/wire-reader.ts';
import { ApiError, notFound, unavailable } from '../../../api/errors/index.ts';
import type { NodeMetrics, Pod, Quantity } from '../../../api/generated/types.ts';
import { parseQuantity, quantityValue } from '../../../api/meta/quantity.ts';
import { toRfc3339, truncatedTime } from '../../../api/meta/time.ts';
import { contentTypes } from '../../../api/metrics/index.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { abortable } from '../../tunnel/abortable.ts';
import { joinStream } from '../../tunnel/carry.ts';
import type { Tunnels } from '../../tunnel/tunnels.ts';
import { discardBody } from '../listener/unread-request.ts';
import { sendBytes } from '../streams/send-bytes.ts';
import type { StreamWay } from '../streams/stream-route.ts';
import { sendNodeLog } from './node-logs.ts';

// What of a kubelet's pages a node has. Agents listen on no port: the server answers from what they told it, and asks
// them for their metrics.

export interface NodePagesDeps {
  readonly nodes: KindStore;
  readonly pods: KindStore;
  readonly measured: KindStore;
  readonly tunnels: Tunnels;
}

type Page = (deps: NodePagesDeps, node: string, way: StreamWay, path: string) => Promise<void>;

const pages: Readonly<Record<string, Page>> = {
  '/healthz': sendHealth,
  '/healthz/ping': sendHealth,
  '/healthz/syncloop': sendHealth,
  '/pods': sendPods,
  '/stats/summary': sendSummary,
  '/metrics': sendMetrics,
  '/metrics/cadvisor': sendMetrics,
  '/metrics/resource': sendMetrics,
};

/** Throws NOT_FOUND for a node or a page that is not there, and UNAVAILABLE while its agent is not connected. */
export async function sendNodePage(deps: NodePagesDeps, node: string, path: string, way: StreamWay): Promise<void> {
  if (!(await deps.nodes.read({ namespace: '', name: node }))) throw notFound({ kind: 'Node', name: node });
  discardBody(way.request);
  if (path === '/logs' || path.startsWith('/logs/')) return await sendNodeLog(deps.tunnels, node, path, way);
  const plain = path.replace(/(.)\/$/, '$1');
  const page = Object.hasOwn(pages, plain) ? pages[plain] : undefined;
  if (!page) throw noSuchPage(path);
  await page(deps, node, way, plain);
}

function noSuchPage(path: string): ApiError {
  const instead = /^\/(run|exec|attach|portForward|containerLogs|runningpods)\b/.test(path)
    ? '; of pods ask the API server, as kubectl does'
    : '';
  const message = `a node has no page "${path.slice(0, 200)}": it has ${Object.keys(pages).join(', ')}, /logs/${instead}`;
  return new ApiError('NOT_FOUND', 'NotFound', message, { parts: { of: 'text', message } });
}

function begin({ response }: StreamWay, type: string): void {
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache, private' });
}

/** An agent that answers anything to a question is there; this one has no effect. */
async function sendHealth({ tunnels }: NodePagesDeps, node: string, way: StreamWay): Promise<void> {
  const { context } = way;
  const stream = await tunnels.open(node, { logLevel: {}, requestId: context.requestId }, context);
  try {
    const frame = await abortable(stream.frames.next(), context.signal);
    if (frame.done) throw unavailable('the connection to the node was lost: try again');
  } finally {
    stream.close();
  }
  begin(way, 'text/plain; charset=utf-8');
  way.response.end('ok');
}

const comma = Buffer.from(',');

/** ServeRequest.metricsPage and MetricsPage.data */
const METRICS_PAGE = 13;
const DATA = 1;

/** What the agent measures, as it comes. */
async function sendMetrics({ tunnels }: NodePagesDeps, node: string, way: StreamWay, path: string): Promise<void> {
  const { response, context } = way;
  const stream = await tunnels.open(node, { metricsPage: { path }, requestId: context.requestId }, context);
  const send = async (frame: Buffer): Promise<void> => {
    if (!response.headersSent) begin(way, contentTypes.prometheus);
    const reader = new WireReader(frame);
    while (reader.next()) if (reader.number === DATA) await sendBytes(response, reader.value(), context.signal);
  };
  await joinStream(stream, { output: METRICS_PAGE }, { send }, context.signal);
  response.end();
}

/** A list of pods, each sent when the client has taken the one before. */
async function sendPods({ pods }: NodePagesDeps, node: string, way: StreamWay): Promise<void> {
  const { response, context } = way;
  await pods.fresh();
  const found = pods.cache.range(pods.keyPrefix).filter((entry) => pods.cache.decoder.fields(entry)['spec.nodeName'] === node);
  begin(way, 'application/json');
  await sendBytes(response, Buffer.from('{"kind":"PodList","apiVersion":"v1","metadata":{},"items":['), context.signal);
  let isFirst = true;
  for (const entry of found) {
    const item = jsonBytes(pods.kind, entry.bytes, true);
    await sendBytes(response, isFirst ? item : Buffer.concat([comma, item]), context.signal);
    isFirst = false;
  }
  response.end(']}');
}

/** The figures of a kubelet's summary that agents measure. */
async function sendSummary({ measured, pods }: NodePagesDeps, node: string, way: StreamWay): Promise<void> {
  await measured.fresh();
  const entry = measured.cache.get(measured.key({ namespace: '', name: node }));
  if (!entry) throw unavailable(`node "${node}" was not measured yet`);
  const metrics = measured.cache.decoder.decode(entry) as NodeMetrics;
  const time = metrics.timestamp ? toRfc3339(truncatedTime(metrics.timestamp, 0)) : null;
  const usage = (of: Readonly<Record<string, Quantity>> = {}) => ({
    ...(of.cpu && { cpu: { time, usageNanoCores: Number(parseQuantity(of.cpu).nanos) } }),
    ...(of.memory && { memory: { time, workingSetBytes: Number(quantityValue(of.memory)) } }),
  });
  const { disk, diskCapacity } = metrics.node ?? {};
  const used =
    disk && diskCapacity
      ? { usedBytes: Number(quantityValue(disk)), capacityBytes: Number(quantityValue(diskCapacity)) }
      : undefined;
  const startOf = (namespace: string, name: string): string | null => {
    const pod = pods.cache.get(pods.key({ namespace, name }));
    const start = pod && (pods.cache.decoder.decode(pod) as Pod).status?.startTime;
    return start ? toRfc3339(truncatedTime(start, 0)) : null;
  };
  const summary = {
    node: {
      nodeName: node,
      ...usage(metrics.usage),
      ...(used && { fs: { time, ...used, availableBytes: used.capacityBytes - used.usedBytes } }),
    },
    pods: (metrics.pods ?? []).map(({ namespace = '', name = '', uid = '', containers = [], ...pod }) => ({
      podRef: { name, namespace, uid },
      startTime: startOf(namespace, name),
      containers: containers.map((each) => ({ name: each.name ?? '', ...usage(each.usage) })),
      network: {
        ...{ time, name: 'eth0' },
        ...{ rxBytes: Number(pod.networkReceiveBytes ?? 0), txBytes: Number(pod.networkTransmitBytes ?? 0) },
      },
    })),
  };
  begin(way, 'application/json');
  await sendBytes(way.response, Buffer.from(JSON.stringify(summary)), way.context.signal);
  way.response.end();
}
