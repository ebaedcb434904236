import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { stringify } from 'yaml';
import { type ApiError, asApiError, notFound } from '../../api/errors/index.ts';
import { versionInfo } from '../../api/meta/version-info.ts';
import { CallChain, type CallChainOptions } from '../calls/call-chain.ts';
import type { CallMeter, CallMeters } from '../calls/call-meter.ts';
import { codes } from '../calls/codes.ts';
import { judgeError } from '../calls/judge-error.ts';
import { OpenCall } from '../calls/open-call.ts';
import { REQUEST_ID } from '../calls/request-id.ts';
import { joinWarnings } from '../calls/warnings.ts';
import type { AnonymousCalls } from '../limits/anonymous-calls.ts';
import type { Registry } from '../registry/registry.ts';
import { serverVersion } from '../server-version.ts';
import type { Tunnels } from '../tunnel/tunnels.ts';
import { joinPieces } from '../verbs/pieces.ts';
import type { Verbs } from '../verbs/verbs.ts';
import { contentTypes, negotiate, type Wanted } from './accept.ts';
import { apiGroup, coreVersions, groupList, resourceList } from './discovery.ts';
import { findResource } from './find-resource.ts';
import { HttpCall, type HttpRequest, type HttpResponse } from './http-call.ts';
import { sendList } from './list-stream.ts';
import { answerAs, type ItemForm, partialObjects, protobufAnswer, tableRows, wholeObjects } from './object-forms.ts';
import { parsePath } from './parse-path.ts';
import { readBody } from './read-body.ts';
import { listOptionsOf } from './read-query.ts';
import { type ResourceRequest, type Route, routeOf } from './resource-routes.ts';
import { httpCodeOf, type StatusSubject, statusOf } from './status-object.ts';
import type { StreamRoute } from './streams/stream-route.ts';
import { streamRouteOf } from './streams/stream-routes.ts';
import { Upgrade, UpgradeCall } from './streams/upgrade.ts';
import { HttpWatchSink, jsonEventsAs } from './watch-stream.ts';

export interface HttpDoorOptions extends CallChainOptions {
  readonly registry: Registry;
  readonly verbs: Verbs;
  readonly tunnels: Tunnels;
  readonly meters: CallMeters;
  readonly anonymous: AnonymousCalls;
  readonly log: Logger;
  readonly now: () => Date;
  /** Whether the server is ready: what /readyz answers. */
  readonly isServing: () => boolean;
}

/** What is answered without credentials: whether the server is there. */
const healthPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);
/** The method that calls of no resource count as. */
const KINDS = '/berth.meta.v1.Objects/Kinds';

/** One call on its way through the door. */
interface Passing {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly call: HttpCall;
  readonly context: OpenCall;
  readonly meter: CallMeter;
  readonly upgrade: Upgrade | undefined;
}

/**
 * Kubernetes' HTTP API: the same verbs, authorization, limits and audit as gRPC, with paths for methods and JSON for
 * messages.
 */
export class HttpDoor {
  readonly #options: HttpDoorOptions;
  readonly #chain: CallChain;
  readonly #meters = new Map<string, CallMeter>();

  constructor(options: HttpDoorOptions) {
    this.#options = options;
    this.#chain = new CallChain(options);
  }

  /** Serves a request. Never throws: what fails is answered. */
  handle(request: HttpRequest, response: HttpResponse): void {
    response.on('error', () => {});
    this.#serve(request, response).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a request failed by a fault of this server');
      response.destroy();
    });
  }

  /** Serves a request that wants another protocol on its connection; where there is none, as any other. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const upgrade = new Upgrade(request, socket, head);
    this.#serve(request, upgrade.response, upgrade).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a request failed by a fault of this server');
      socket.destroy();
    });
  }

  async #serve(request: HttpRequest, response: HttpResponse, upgrade?: Upgrade): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://door');
    if (healthPaths.has(url.pathname)) return this.#answerHealth(url.pathname, request, response);
    let found: { readonly of: ResourceRequest; readonly route: Route | StreamRoute } | undefined;
    let refused: unknown;
    let subject: StatusSubject = {};
    try {
      const path = parsePath(url.pathname);
      if (path.of === 'resource') {
        const { group, resource, name } = path.target;
        subject = { group, resource, name };
        const store = findResource(this.#options.registry.stores, path.target);
        const of: ResourceRequest = { request, store, target: path.target, query: url.searchParams };
        found = { of, route: streamRouteOf(of, this.#options) ?? routeOf(of, this.#options.verbs) };
      }
    } catch (error) {
      // The caller has to be known before it is told.
      refused = error;
    }
    const isStream = found?.route.of === 'watch' || found?.route.of === 'stream';
    const method = found?.route.method ?? KINDS;
    const call = upgrade ? new UpgradeCall(method, upgrade) : new HttpCall(method, request, response);
    const context = new OpenCall(call, this.#options, isStream);
    const meter = this.#meterOf(call.method, isStream);
    const passing: Passing = { request, response, call, context, meter, upgrade };
    const beganAt = meter.begin();
    let code = codes.OK as number;
    try {
      if (found?.route.of === 'watch') await this.#watch(passing, found.of);
      else if (found?.route.of === 'stream') await this.#stream(passing, found.route);
      else {
        this.#chain.beginUnary(context);
        if (refused !== undefined) throw refused;
        if (!found) this.#answerPath(passing, url.pathname);
        else if (found.route.of === 'list') await this.#list(passing, found.of);
        else await this.#unary(passing, found.of, found.route as Route);
      }
      context.audited?.ended();
    } catch (error) {
      code = this.#refuse(passing, error, subject);
    } finally {
      this.#chain.leave(context, isStream ? 'stream' : 'unary');
      meter.end(beganAt, call.isCancelled ? codes.CANCELLED : code);
    }
  }

  async #unary({ request, response, call, context, meter }: Passing, of: ResourceRequest, route: Route): Promise<void> {
    if (route.of !== 'unary') return;
    const wanted = negotiate(request.headers.accept, { transform: true, protobuf: true });
    const body = route.hasBody ? await readBody(request) : Buffer.alloc(0);
    const form = wanted.type === 'protobuf' ? protobufAnswer : answerAs(this.#itemForm(wanted, of.query), writers[wanted.type]);
    const prepared = this.#chain.prepare(context, () => route.prepare(body, context, form));
    const { bytes, warnings } = await prepared.run();
    const answer = bytes instanceof Uint8Array ? bytes : joinPieces(bytes);
    this.#chain.holdAnswer(call, context, answer.length, meter.isReadOnly);
    this.#head(response, context, route.code, contentTypes[wanted.type], {
      length: answer.length,
      warnings: joinWarnings(warnings, context.warnings),
    });
    response.end(answer);
  }

  async #list({ request, response, call, context }: Passing, of: ResourceRequest): Promise<void> {
    const wanted = negotiate(request.headers.accept, { transform: true, protobuf: false });
    const form = this.#itemForm(wanted, of.query);
    const begin = (warnings: readonly string[]): void => this.#head(response, context, 200, contentTypes.json, { warnings });
    const { store, target, query } = of;
    const options = listOptionsOf(query);
    const wish = { store, namespace: target.namespace, options, form };
    await sendList(wish, { verbs: this.#options.verbs, chain: this.#chain, call, context, response, begin });
  }

  async #watch({ request, response, context }: Passing, of: ResourceRequest): Promise<void> {
    const { store, target, query } = of;
    const wanted = negotiate(request.headers.accept, { transform: true, protobuf: false });
    const form = this.#itemForm(wanted, query);
    const events = jsonEventsAs(form, `${wanted.as ?? ''} ${query.get('includeObject') ?? ''}`, store);
    context.identify();
    this.#chain.enter(context, 'stream');
    const sink = new HttpWatchSink(response);
    const request_ = { namespace: target.namespace, options: listOptionsOf(query) };
    const watch = this.#chain.prepare(context, () => this.#options.verbs.watch(store, request_, events, context));
    try {
      await watch.run(sink);
      sink.end();
    } catch (error) {
      if (!sink.begun) throw error;
      sink.end(error);
    }
  }

  async #stream({ request, response, context, upgrade }: Passing, route: StreamRoute): Promise<void> {
    context.identify();
    this.#chain.enter(context, 'stream');
    const prepared = this.#chain.prepare(context, () => route.prepare(context));
    await prepared.run({ request, response, upgrade, context });
  }

  #itemForm({ as }: Wanted, query: URLSearchParams): ItemForm {
    if (as === undefined) return wholeObjects;
    if (as !== 'Table') return partialObjects;
    const include = query.get('includeObject') ?? 'Metadata';
    return tableRows(include === 'None' || include === 'Object' ? include : 'Metadata', this.#options.now);
  }

  /** What is no resource: discovery and the version. */
  #answerPath({ request, response, context }: Passing, path: string): void {
    const { stores } = this.#options.registry;
    const [, first = '', group = '', version = '', ...more] = path.replace(/\/$/, '').split('/');
    context.authorizePath(first === 'version' ? '/version' : first === 'api' ? '/api' : '/apis');
    const answer = ((): object | undefined => {
      if (request.method !== 'GET' || more.length > 0) return undefined;
      if (first === 'version' && group === '') return versionInfo(serverVersion());
      if (first === 'api' && version === '') return group === '' ? coreVersions('') : resourceList(stores, group);
      if (first !== 'apis') return undefined;
      if (group === '') return groupList(stores);
      return version === '' ? apiGroup(stores, group) : resourceList(stores, `${group}/${version}`);
    })();
    if (!answer) throw notFound({ kind: 'path', name: path });
    const body = Buffer.from(JSON.stringify(answer));
    this.#head(response, context, 200, contentTypes.json, { length: body.length });
    response.end(body);
  }

  #answerHealth(path: string, request: HttpRequest, response: HttpResponse): void {
    const leave = this.#options.anonymous.enter(request.socket.remoteAddress ?? '', 'unary');
    response.once('close', leave);
    const isWell = path !== '/readyz' || this.#options.isServing();
    response.writeHead(isWell ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(isWell ? 'ok' : 'not ready');
  }

  /** Answers with a Status, and gives the code of gRPC for it. */
  #refuse({ request, response, call, context, upgrade }: Passing, error: unknown, subject: StatusSubject): number {
    const { requestId } = context;
    const user = context.isIdentified ? context.identity.user : undefined;
    const known: ApiError = judgeError(this.#options.log, asApiError(error) ?? error, { method: call.method, requestId, user });
    context.audited?.ended(known);
    if (upgrade?.isSwitched) return codes[known.code];
    if (response.headersSent || response.destroyed) response.destroy();
    else {
      const status = statusOf(known, subject);
      const body = Buffer.from(JSON.stringify(status));
      const retry = status.details?.retryAfterSeconds;
      this.#head(response, context, httpCodeOf(known), contentTypes.json, { length: body.length, retry, isFailure: true });
      response.end(body);
      // What is left of a body that is not read would come into the next request of the connection.
      if (!request.complete) request.destroy();
    }
    return codes[known.code];
  }

  #head(
    response: HttpResponse,
    context: OpenCall,
    code: number,
    contentType: string,
    more: {
      readonly length?: number;
      readonly warnings?: readonly string[] | undefined;
      readonly retry?: number | undefined;
      readonly isFailure?: boolean;
    },
  ): void {
    const { length, warnings = [], retry, isFailure = false } = more;
    const headers: Record<string, string | string[]> = { 'content-type': contentType, 'cache-control': 'no-cache, private' };
    if (length !== undefined) headers['content-length'] = String(length);
    if (retry !== undefined) headers['retry-after'] = String(retry);
    if (warnings.length > 0) headers.warning = warnings.map((text) => warningHeader(text));
    if (isFailure || context.isNamed) headers[REQUEST_ID] = context.requestId;
    response.writeHead(code, headers);
  }

  #meterOf(method: string, isStream: boolean): CallMeter {
    let meter = this.#meters.get(method);
    if (!meter) {
      meter = this.#options.meters.of(method, isStream);
      this.#meters.set(method, meter);
    }
    return meter;
  }
}

const writers = {
  json: (json: object): Buffer => Buffer.from(JSON.stringify(json)),
  yaml: (json: object): Buffer => Buffer.from(stringify(json)),
} as const;

/** A warning as RFC 7234 has it: code, agent, quoted text. Headers hold no control characters, and ASCII alone. */
function warningHeader(text: string): string {
  const plain = text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, (character) => `\\${character}`);
  return `299 - "${plain}"`;
}
