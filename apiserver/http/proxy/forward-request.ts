import { type ClientRequest, type IncomingMessage, request as openRequest, type RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ConnectionOptions } from 'node:tls';
import { createGunzip, createInflate } from 'node:zlib';
import { ApiError, asApiError, callCancelled, unavailable } from '../../../api/errors/index.ts';
import type { KeptConnections, KeptOptions } from '../../aggregation/extension-connections.ts';
import { AUDIT_ID } from '../../calls/request-id.ts';
import { abortable } from '../../tunnel/abortable.ts';
import { stopping } from '../../tunnel/forward.ts';
import { overTls } from '../../tunnel/over-tls.ts';
import { requireAnswer } from '../../tunnel/require-answer.ts';
import { askForBody, hasBody } from '../listener/unread-request.ts';
import type { StreamWay } from '../streams/stream-route.ts';
import { answerHeaders, requestHeaders } from './proxy-headers.ts';
import type { ProxyTarget } from './proxy-target.ts';
import { LinkRewriter, type ProxyPlace, rewriteLink } from './rewrite-links.ts';

export interface ForwardWish {
  readonly target: ProxyTarget;
  /** Of the server: "/api/v1/namespaces/N/pods/P/proxy". */
  readonly prefix: string;
  /** What is asked of the other side, as it was written; begins with "/". */
  readonly path: string;
  /** With its "?", or "". */
  readonly search: string;
  /** Of an extension server, which answers in this server's place. */
  readonly extension?: ExtensionRules;
}

export interface ExtensionRules {
  /** How its certificate is checked, and the one that it is shown. */
  readonly tls: ConnectionOptions;
  /** Who calls; and the name of the server. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** When the head of its answer has to be there; absent: it may take its time. */
  readonly answersWithinMs?: number | undefined;
  /** For a read, which may go out again where a kept connection turns out to be closed. */
  readonly kept?: KeptConnections | undefined;
}

/**
 * Passes a request on, and the answer back, each no faster than its reader takes it; a connection that the other side
 * switches to another protocol is joined with the client's. Throws UNAVAILABLE where the other side gives no answer.
 */
export async function forwardRequest({ target, prefix, path, search, extension }: ForwardWish, way: StreamWay): Promise<void> {
  const { request, upgrade, context } = way;
  const open: Open = { close: () => {} };
  const onAbort = (): void => open.close();
  context.signal.addEventListener('abort', onAbort);
  try {
    const address = request.socket.remoteAddress ?? '';
    const forwarded = { headers: request.headers, uri: prefix + path, address, hasBody: hasBody(request) };
    const headers = { ...requestHeaders(forwarded), ...extension?.headers };
    if (upgrade) Object.assign(headers, { connection: 'Upgrade', upgrade: request.headers.upgrade ?? '' });
    const place = { prefix, hosts: [target.host, headers.host].flat().filter((each) => each !== undefined) };
    const options = { method: request.method ?? 'GET', path: path + search, headers };
    const passage: Passage = { target, extension, options, way, open };
    const answer = (await reach(overKept(passage))) ?? (await reach(overOwn(passage)));
    if (answer.socket) await joinConnections(way, answer.message, { socket: answer.socket, head: answer.head });
    else if (extension) await sendExtensionAnswer(answer.message, way);
    else await sendAnswer(answer.message, place, way);
  } catch (error) {
    throw context.isCancelled ? callCancelled() : context.signal.aborted ? stopping() : error;
  } finally {
    context.signal.removeEventListener('abort', onAbort);
    open.close();
  }
}

interface Passage {
  readonly target: ProxyTarget;
  readonly extension: ExtensionRules | undefined;
  readonly options: RequestOptions;
  readonly way: StreamWay;
  readonly open: Open;
}

/** What a passage has open. Closing does nothing to a kept connection whose answer was read to its end. */
interface Open {
  close: () => void;
}

/** Undefined where no connection is kept, or where the one that was used again had been closed before it answered. */
async function overKept({ target, extension, options, way, open }: Passage): Promise<Answer | undefined> {
  const kept = extension?.kept;
  if (!kept?.mayTake(target)) return undefined;
  const { signal } = way.context;
  signal.throwIfAborted();
  const over: KeptOptions = { ...options, agent: kept, target };
  const sent = openRequest(over);
  open.close = () => void sent.destroy();
  try {
    return await abortable(answerOf(sent, way, extension?.answersWithinMs), signal);
  } catch (error) {
    if (!sent.reusedSocket || signal.aborted || asApiError(error)?.code === 'DEADLINE_EXCEEDED') throw error;
    return undefined;
  }
}

async function overOwn({ target, extension, options, way, open }: Passage): Promise<Answer> {
  const socket = await target.dial(way.context);
  open.close = () => void socket.destroy();
  way.context.signal.throwIfAborted();
  const wire = target.scheme === 'https' ? overTls(socket, extension?.tls ?? unchecked) : socket;
  const sent = openRequest({ ...options, createConnection: () => wire });
  return answerOf(sent, way, extension?.answersWithinMs);
}

/** As Kubernetes has it, certificates of pods are not checked: nothing says by which authority. */
const unchecked: ConnectionOptions = { rejectUnauthorized: false };

async function reach<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const known = asApiError(error);
    if (known && known.reason !== 'ServiceUnavailable' && known.code !== 'FAILED_PRECONDITION') throw known;
    throw unavailable(`error trying to reach service: ${(error as Error).message}`, error);
  }
}

interface Answer {
  readonly message: IncomingMessage;
  /** Of a connection that has another protocol from here on, and what of it came with the answer. */
  readonly socket?: Duplex;
  readonly head: Buffer;
}

function answerOf(sent: ClientRequest, { request, response, upgrade }: StreamWay, withinMs: number | undefined): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const answer = new Promise<Answer>((resolve, reject) => {
    sent.on('error', reject);
    requireAnswer(sent, ({ message }) => reject(unavailable(message)));
    // A request that is destroyed before it has a connection says so only when it gets one.
    const giveUp = (error: ApiError): void => {
      sent.destroy(error);
      reject(error);
    };
    if (withinMs !== undefined) timer = setTimeout(() => giveUp(late(withinMs)), withinMs);
    sent.on('response', (message) => resolve({ message, head: Buffer.alloc(0) }));
    if (upgrade) sent.on('upgrade', (message, socket, head) => resolve({ message, socket, head }));
    // An answer may come before the body has been read; then the rest of it is of no interest.
    if (upgrade || !hasBody(request)) sent.end();
    else {
      askForBody(request, response);
      pipeline(request, sent).catch(() => {});
    }
  });
  return answer.finally(() => clearTimeout(timer));
}

function late(ms: number): ApiError {
  return new ApiError('DEADLINE_EXCEEDED', 'Timeout', `request did not complete within ${ms / 1_000}s`);
}

/** As in Kubernetes, a redirect is refused: the client would take it for this server's word. */
async function sendExtensionAnswer(message: IncomingMessage, way: StreamWay): Promise<void> {
  const { statusCode = 0, headers } = message;
  const isRedirect = statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
  if (!isRedirect) return sendPieces(message, answerHeaders(headers, way.context.requestId), [], way);
  message.destroy();
  const { response } = way;
  response.writeHead(502, { 'content-type': 'text/plain; charset=utf-8', [AUDIT_ID]: way.context.requestId });
  response.end('the backend attempted to redirect this request, which is not permitted');
}

async function sendAnswer(message: IncomingMessage, place: ProxyPlace, way: StreamWay): Promise<void> {
  const headers = answerHeaders(message.headers, way.context.requestId);
  if (typeof headers.location === 'string') headers.location = rewriteLink(headers.location, place);
  const steps = way.request.method === 'HEAD' ? [] : rewriting(message, place);
  if (steps.length > 0) for (const name of ['content-length', 'content-encoding']) delete headers[name];
  await sendPieces(message, headers, steps, way);
}

async function sendPieces(
  message: IncomingMessage,
  headers: ReturnType<typeof answerHeaders>,
  steps: readonly NodeJS.ReadWriteStream[],
  { request, response }: StreamWay,
): Promise<void> {
  const { statusCode = 0, statusMessage } = message;
  const isHttp1 = request.httpVersionMajor === 1;
  if (statusCode < 200 || statusCode > (isHttp1 ? MOST_STATUS : MOST_HTTP2_STATUS))
    throw unavailable(`error trying to reach service: it answered with the status ${statusCode}`);
  response.statusCode = statusCode;
  const isBodiless = statusCode === 204 || (statusCode === 205 && !isHttp1);
  if (isBodiless) delete headers['content-length'];
  // HTTP/2 has none.
  if (isHttp1 && statusMessage && STATUS_TEXT.test(statusMessage)) response.statusMessage = statusMessage;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (isBodiless) return void response.end();
  response.flushHeaders();
  // The door listens for its end, and a pipeline several times.
  response.setMaxListeners(MOST_LISTENERS);
  await pipeline([message, ...steps, response]);
}

const MOST_LISTENERS = 30;
/** What Node sends of both: others are an error of its caller. */
const MOST_STATUS = 999;
const MOST_HTTP2_STATUS = 599;
const STATUS_TEXT = /^[\t\x20-\x7e\x80-\xff]+$/;

const decoders = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate } as const;

/** What a page passes through whose links are rewritten: one in an encoding that can be read, and in one piece. */
function rewriting({ headers }: IncomingMessage, place: ProxyPlace): NodeJS.ReadWriteStream[] {
  const type = (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (type !== 'text/html' || headers['content-range'] !== undefined) return [];
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity') return [new LinkRewriter(place)];
  if (!Object.hasOwn(decoders, encoding)) return [];
  return [decoders[encoding as keyof typeof decoders](), new LinkRewriter(place)];
}

/** Joins two connections until one of them ends. */
async function joinConnections(
  { upgrade, context }: StreamWay,
  { statusMessage, headers }: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
): Promise<void> {
  const { socket: client, head: early } = upgrade!.take();
  client.setMaxListeners(MOST_LISTENERS);
  const said = { ...answerHeaders(headers, context.requestId), connection: 'Upgrade', upgrade: headers.upgrade ?? '' };
  const lines = Object.entries(said).flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}`));
  client.write(`HTTP/1.1 101 ${statusMessage || 'Switching Protocols'}\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  client.write(head);
  socket.write(early);
  const gone = (): void => void socket.destroy();
  client.once('close', gone);
  try {
    await Promise.race([pipeline(client, socket), pipeline(socket, client)]);
  } catch {
    // One of them is gone, and takes no answer.
  } finally {
    client.removeListener('close', gone);
    socket.destroy();
    client.destroySoon();
  }
}
