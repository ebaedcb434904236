import { WireReader } from '../../../api/codec/wire-reader.ts';
import { asApiError, badRequest, invalid } from '../../../api/errors/index.ts';
import { forbidden, invalidValue, notSupported } from '../../../api/errors/violations.ts';
import { timestamp } from '../../../api/meta/time.ts';
import { logs } from '../../tunnel/carriages.ts';
import { authorizeStream, joinStream, openStream, type StreamDeps } from '../../tunnel/carry.ts';
import { discardBody } from '../listener/unread-request.ts';
import { flag, integer } from '../requests/read-query.ts';
import type { ResourceRequest } from '../resource-routes.ts';
import { requireContainer } from './choose-container.ts';
import { checkLogProtocols, LogSocket } from './log-socket.ts';
import { sendBytes } from './send-bytes.ts';
import type { LogOptions, StreamRoute, StreamWay } from './stream-route.ts';

/** PodLogsResponse.data */
const DATA = 1;

/** GET .../pods/NAME/log: the text as it is written, no faster than the client reads; also over a WebSocket. */
export function logRoute({ target, query, store }: ResourceRequest, deps: StreamDeps): StreamRoute {
  const { namespace, name } = target;
  return {
    of: 'stream',
    method: `/${store.kind.service}/Logs`,
    prepare(context) {
      const start = { namespace, name, options: logOptionsOf(query, name) };
      authorizeStream(logs, start, context);
      return { run: (way) => carryLog(deps, start, way) };
    },
  };
}

type LogStart = { readonly namespace: string; readonly name: string; readonly options: LogOptions };

/** What takes a log. */
interface LogTaker {
  /** Says that there is one; again without effect. */
  begin(): Promise<void>;
  /** Resolves when the bytes have left this process. */
  send(bytes: Uint8Array): Promise<void>;
  end(): void;
}

async function carryLog(deps: StreamDeps, start: LogStart, way: StreamWay): Promise<void> {
  discardBody(way.request);
  if (way.upgrade?.protocol !== 'websocket') return sendLog(deps, start, way.context, answerOf(way));
  checkLogProtocols(way.upgrade);
  const socket = new LogSocket(way.upgrade, way.context.signal);
  try {
    await sendLog(deps, start, way.context, socket);
  } catch (error) {
    socket.cutOff();
    throw error;
  }
}

function answerOf({ response, context }: StreamWay): LogTaker {
  return {
    async begin() {
      if (response.headersSent) return;
      response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-cache, private' });
      response.flushHeaders();
    },
    send: (bytes) => sendBytes(response, bytes, context.signal),
    end: () => void response.end(),
  };
}

async function sendLog(deps: StreamDeps, start: LogStart, context: StreamWay['context'], taker: LogTaker): Promise<void> {
  const opened = await openStream(deps, logs, { start, context, choose: requireContainer }).catch(passUnassigned);
  const send = async (frame: Buffer): Promise<void> => {
    // The first frame holds no text: it says that the agent has the log.
    await taker.begin();
    const reader = new WireReader(frame);
    while (reader.next()) if (reader.number === DATA) await taker.send(reader.value());
  };
  if (opened) await joinStream(opened.stream, logs, { send }, context.signal);
  await taker.begin();
  taker.end();
}

/** As in Kubernetes the log of a pod without a node is empty. Throws all other errors. */
function passUnassigned(error: unknown): undefined {
  if (asApiError(error)?.reason !== 'PodNotAssigned') throw error;
}

/** The options of a log, checked as Kubernetes checks them. Throws BAD_REQUEST, or INVALID with all violations. */
export function logOptionsOf(query: URLSearchParams, name: string): LogOptions {
  const { sinceSeconds, tailLines, limitBytes } = {
    sinceSeconds: integer(query, 'sinceSeconds'),
    tailLines: integer(query, 'tailLines'),
    limitBytes: integer(query, 'limitBytes'),
  };
  const sinceTime = timeOf(query, 'sinceTime');
  const stream = query.get('stream') || undefined;
  const container = query.get('container') || undefined;
  const violations = [
    ...(tailLines !== undefined && tailLines < 0
      ? [invalidValue('tailLines', tailLines, 'must be greater than or equal to 0')]
      : []),
    ...(limitBytes !== undefined && limitBytes < 1 ? [invalidValue('limitBytes', limitBytes, 'must be greater than 0')] : []),
    ...(sinceSeconds !== undefined && sinceSeconds < 1
      ? [invalidValue('sinceSeconds', sinceSeconds, 'must be greater than 0')]
      : []),
    ...(sinceSeconds !== undefined && sinceTime
      ? [forbidden('sinceTime', 'at most one of `sinceTime` or `sinceSeconds` may be specified')]
      : []),
    // A container's log is kept with both streams in the order of writing.
    ...(stream !== undefined && stream !== 'All' ? [notSupported('stream', stream, ['All'])] : []),
  ];
  if (violations.length > 0) throw invalid({ kind: 'PodLogOptions', name }, violations);
  return {
    ...(container !== undefined && { container }),
    ...(flag(query, 'follow') && { follow: true }),
    ...(flag(query, 'previous') && { previous: true }),
    ...(flag(query, 'timestamps') && { timestamps: true }),
    ...(sinceSeconds !== undefined && { sinceSeconds }),
    ...(sinceTime && { sinceTime: timestamp(sinceTime) }),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
  };
}

function timeOf(query: URLSearchParams, name: string): Date | undefined {
  const text = query.get(name);
  if (!text) return undefined;
  const time = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(time.getTime()))
    throw badRequest(`${name}=${text.slice(0, 64)} is no time in the form of RFC 3339`);
  return time;
}
