import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { type ApiError, asApiError } from '../../api/errors/index.ts';
import type { ListOptions } from '../../api/generated/types.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Aggregation } from '../aggregation/aggregation.ts';
import { CallChain, type CallChainOptions } from '../calls/call-chain.ts';
import type { CallMeter, CallMeters } from '../calls/call-meter.ts';
import { codes } from '../calls/codes.ts';
import { judgeError } from '../calls/judge-error.ts';
import { OpenCall } from '../calls/open-call.ts';
import { AUDIT_ID, REQUEST_ID } from '../calls/request-id.ts';
import { joinWarnings } from '../calls/warnings.ts';
import type { Arrivals } from '../connections/arrivals.ts';
import type { AnonymousCalls } from '../limits/anonymous-calls.ts';
import type { Registry } from '../registry/registry.ts';
import type { Tunnels } from '../tunnel/tunnels.ts';
import { joinPieces } from '../verbs/pieces.ts';
import type { Verbs } from '../verbs/verbs.ts';
import { type ActionDeps, actionRoute } from './action-routes.ts';
import { contentTypes, negotiate, prefersProtobuf, type Wanted } from './answers/accept.ts';
import { encodedFor, outputTo } from './answers/answer-encoding.ts';
import { answerForm, includeOf, itemForm, itemFormId, protobufForm } from './answers/answer-forms.ts';
import { writers } from './answers/answer-writers.ts';
import { type ListWay, sendList } from './answers/list-stream.ts';
import { compactList, prettyJson, prettyList, readsPretty, wantsPretty } from './answers/pretty-json.ts';
import { HttpWatchSink, isOfVersion, jsonEventsAs, jsonWriting } from './answers/watch-stream.ts';
import { warnOfDeprecation } from './deprecated-kinds.ts';
import { isPublicPath, KINDS, PathAnswers } from './discovery/path-answers.ts';
import { httpCodeOf, statusOf } from './errors/status-object.ts';
import type { StatusSubject } from './errors/status-text.ts';
import { warningHeaders } from './errors/warnings.ts';
import { HttpCall, type HttpRequest, type HttpResponse } from './http-call.ts';
import { announceEnd, discardBody, endAnswer } from './listener/unread-request.ts';
import { hasProtobuf, protobufEventsAs, protobufWriting } from './protobuf/protobuf-forms.ts';
import { sendProtobufList } from './protobuf/protobuf-list.ts';
import { statusProtobuf } from './protobuf/status-protobuf.ts';
import { extensionRoute } from './proxy/extension-route.ts';
import { answerPublic } from './public-answers.ts';
import { checkRequest } from './requests/check-request.ts';
import { findResource } from './requests/find-resource.ts';
import { checkedListOptions, watchOptionsOf } from './requests/list-options.ts';
import { parsePath, type ResourcePath } from './requests/parse-path.ts';
import { readBody } from './requests/read-body.ts';
import { type Target, targetOf } from './requests/request-target.ts';
import {
  type ActionRequest,
  type CollectionRoute,
  collectionDeleted,
  type DocumentRoute,
  type ListRoute,
  type ResourceRequest,
  routeOf,
  type UnaryRoute,
} from './resource-routes.ts';
import type { StreamRoute } from './streams/stream-route.ts';
import { streamRouteOf } from './streams/stream-routes.ts';
import { Upgrade, UpgradeCall } from './streams/upgrade.ts';
import { SocketWatchSink } from './streams/watch-socket.ts';

export interface HttpDoorOptions extends CallChainOptions {
  readonly registry: Registry;
  readonly verbs: Verbs;
  readonly tunnels: Tunnels;
  readonly meters: CallMeters;
  readonly anonymous: AnonymousCalls;
  /** Counts bodies that have not come in whole. */
  readonly arrivals: Arrivals;
  readonly log: Logger;
  readonly now: () => Date;
  readonly actions: ActionDeps;
  readonly aggregation: Aggregation;
  readonly metrics: MetricsRegistry;
  readonly random: () => number;
  /** Whether the server is ready: what /readyz answers. */
  readonly isServing: () => boolean;
}

/** A route, and what it was found for: the verbs of kept objects have a store. */
type Found =
  | ((UnaryRoute | DocumentRoute) & { readonly asked: ActionRequest })
  | ((ListRoute | CollectionRoute) & { readonly asked: ResourceRequest })
  | (StreamRoute & { readonly asked?: ResourceRequest });

/** The pages of a list, and how they are sent. */
interface ListSource extends Pick<ListWay, 'page'> {
  readonly wanted: Wanted;
  readonly options: ListOptions;
  readonly warnings?: readonly string[];
}

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
  readonly #paths: PathAnswers;
  readonly #meters = new Map<string, CallMeter>();
  /** How errors name what they are about. */
  readonly #resources: StatusSubject;

  constructor(options: HttpDoorOptions) {
    this.#options = options;
    this.#chain = new CallChain(options);
    const { stores } = options.registry;
    this.#resources = { resourceOf: (kind) => stores.get(kind)?.resource };
    this.#paths = new PathAnswers({ ...options, tokenKeys: options.actions.tokenKeys });
  }

  /** Serves a request. Never throws: what fails is answered. */
  handle(request: HttpRequest, response: HttpResponse): void {
    response.on('error', () => {});
    this.#serve(request, response).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a request failed by a fault of this server');
      response.destroy();
    });
  }

  /** Serves a request to switch the protocol of its connection. A refusal is a normal answer. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const upgrade = new Upgrade(request, socket, head);
    this.#serve(request, upgrade.response, upgrade).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a request failed by a fault of this server');
      socket.destroy();
    });
  }

  async #serve(request: HttpRequest, response: HttpResponse, upgrade?: Upgrade): Promise<void> {
    const url = targetOf(request.url);
    if (isPublicPath(url.pathname)) return answerPublic({ ...this.#options, paths: this.#paths }, url, { request, response });
    let found: Found | undefined;
    let refused: unknown;
    let subject: Partial<ResourcePath> = {};
    try {
      checkRequest(request, upgrade !== undefined);
      const path = parsePath(url.pathname);
      if (path.of === 'resource') subject = path.target;
      const query = url.searchParams;
      found = extensionRoute(path, { request, query }, this.#options.aggregation);
      if (path.of === 'resource') found ??= this.#find({ request, target: path.target, query });
    } catch (error) {
      // The caller has to be known before it is told.
      refused = error;
    }
    const isStream = found?.of === 'watch' || found?.of === 'stream';
    const method = found?.method ?? KINDS;
    const call = upgrade ? new UpgradeCall(method, upgrade) : new HttpCall(method, request, response);
    const context = new OpenCall(call, this.#options, isStream);
    const meter = this.#meterOf(call.method, isStream);
    const passing: Passing = { request, response, call, context, meter, upgrade };
    const hasBody = found?.of === 'stream' || found?.of === 'collection' || (found?.of === 'unary' && found.hasBody);
    if (!hasBody) discardBody(request);
    if (found?.asked && 'store' in found.asked) warnOfDeprecation(found.asked.store, context);
    const beganAt = meter.begin();
    let code = codes.OK as number;
    try {
      if (found?.of === 'watch') await this.#watch(passing, found.asked);
      else if (found?.of === 'stream') await this.#stream(passing, found);
      else {
        this.#chain.beginUnary(context);
        if (refused !== undefined) throw refused;
        if (!found) await this.#answerPath(passing, url);
        else if (found.of === 'unary') await this.#unary(passing, found.asked, found);
        else if (found.of === 'collection') await this.#deleteCollection(passing, found.asked, found);
        else if (found.of === 'document') await this.#document(passing, found, url.searchParams);
        else await this.#list(passing, found.asked);
      }
      context.audited?.ended();
    } catch (error) {
      code = this.#refuse(passing, error, subject);
    } finally {
      this.#chain.leave(context, isStream ? 'stream' : 'unary');
      meter.end(beganAt, call.isCancelled ? codes.CANCELLED : code);
    }
  }

  #find(asked: ActionRequest): Found {
    const { registry, actions, verbs } = this.#options;
    const action = actionRoute(asked, actions);
    if (action) return { ...action, asked };
    const of = { ...asked, store: findResource(registry.stores, asked.target) };
    return { ...(streamRouteOf(of, this.#options) ?? routeOf(of, verbs)), asked: of };
  }

  async #unary(
    { request, response, call, context, meter, upgrade }: Passing,
    of: Partial<ResourceRequest> & ActionRequest,
    route: UnaryRoute,
  ): Promise<void> {
    // What keeps no objects has no metadata to show alone: Kubernetes answers 406.
    const may = { transform: of.store !== undefined, protobuf: !of.store || hasProtobuf(of.store.kind) };
    const wanted = negotiate(request.headers.accept, may);
    const way = { request, response, isUpgrade: upgrade !== undefined, arrivals: this.#options.arrivals };
    const body = route.hasBody ? await readBody(way) : noBody;
    const form = answerForm(wanted, of.query, this.#options.now);
    const prepared = this.#chain.prepare(context, () => route.prepare(body, context, form));
    const { bytes, warnings, isCreated = false } = await prepared.run();
    const answer = bytes instanceof Uint8Array ? bytes : joinPieces(bytes);
    this.#chain.holdAnswer(call, context, answer.length, meter.isReadOnly);
    const isPretty = wanted.type === 'json' && wantsPretty(request, of.query);
    const encoding = encodedFor(request, isPretty ? prettyJson(answer) : answer);
    const sent = encoding instanceof Promise ? await encoding : encoding;
    this.#head(response, context, isCreated ? 201 : route.code, contentTypes[wanted.type], {
      ...{ length: sent.bytes.length, headers: sent.headers },
      warnings: joinWarnings(warnings, context.warnings),
    });
    response.end(sent.bytes);
  }

  async #document(
    { request, response, call, context, meter }: Passing,
    { prepare, transform }: DocumentRoute,
    query: URLSearchParams,
  ): Promise<void> {
    const wanted = negotiate(request.headers.accept, { transform: transform !== undefined, protobuf: false });
    const make = this.#chain.prepare(context, () => prepare(context));
    const document = await make();
    const made = transform && wanted.as ? transform(document, wanted, includeOf(query)) : document;
    const body = writers[wanted.type === 'yaml' ? 'yaml' : 'json'](made);
    this.#chain.holdAnswer(call, context, body.length, meter.isReadOnly);
    const isPretty = wanted.type === 'json' && wantsPretty(request, query);
    const sent = await encodedFor(request, isPretty ? prettyJson(body) : body);
    const head = { length: sent.bytes.length, headers: sent.headers, warnings: context.warnings };
    this.#head(response, context, 200, contentTypes[wanted.type], head);
    response.end(sent.bytes);
  }

  #list(passing: Passing, of: ResourceRequest): Promise<void> {
    const page: ListWay['page'] = (wanted, form) => this.#options.verbs.list(of.store, wanted, form, passing.context);
    return this.#sendList(passing, of, { wanted: wantedList(passing, of), options: checkedListOptions(of.query), page });
  }

  /** Once it has deleted, it never fails: a client would take that for objects that are still there. */
  async #deleteCollection(passing: Passing, of: ResourceRequest, route: CollectionRoute): Promise<void> {
    const { response, context } = passing;
    const { store } = of;
    const wanted = wantedList(passing, of);
    const body = await readBody({ ...passing, isUpgrade: passing.upgrade !== undefined, arrivals: this.#options.arrivals });
    const { options, warnings } = await this.#chain.prepare(context, () => route.prepare(body, context)).run();
    const page: ListWay['page'] = (request, form) => this.#options.verbs.listDeleted(store, request, form, context);
    try {
      await this.#sendList(passing, of, { wanted, options, page, warnings });
    } catch (error) {
      if (response.headersSent || response.destroyed || !asApiError(error)) throw error;
      const { type } = wanted;
      const sent = answerForm({ type }, of.query, this.#options.now).status(collectionDeleted(store));
      const told = joinWarnings(warnings, context.warnings);
      this.#head(response, context, 200, contentTypes[type], { length: sent.length, warnings: told });
      response.end(sent);
    }
  }

  async #sendList(
    { request, response, call, context }: Passing,
    { store, target, query }: ResourceRequest,
    { wanted, options, page, warnings: before }: ListSource,
  ): Promise<void> {
    const begin = (warnings: readonly string[], atLeast: number) =>
      outputTo({ request, response }, atLeast, (headers) => {
        this.#head(response, context, 200, contentTypes[wanted.type], { warnings: joinWarnings(before, warnings), headers });
      });
    const wish = { store, namespace: target.namespace, options };
    const way = { page, chain: this.#chain, call, context, response, begin };
    if (wanted.type === 'protobuf') await sendProtobufList({ ...wish, form: protobufForm(wanted) }, way);
    else {
      const isPretty = wanted.type === 'json' && wantsPretty(request, query);
      await sendList({ ...wish, form: itemForm(wanted, query, this.#options.now) }, way, isPretty ? prettyList : compactList);
    }
  }

  async #watch({ request, response, context, upgrade }: Passing, of: ResourceRequest): Promise<void> {
    const { store, target, query } = of;
    const wanted = negotiate(request.headers.accept, { transform: true, protobuf: hasProtobuf(store.kind), yaml: false });
    const isProtobuf = wanted.type === 'protobuf';
    const events = isProtobuf
      ? protobufEventsAs(protobufForm(wanted), store)
      : jsonEventsAs(itemForm(wanted, query, this.#options.now), itemFormId(wanted, query), store);
    context.identify();
    this.#chain.enter(context, 'stream');
    const writing = isProtobuf ? protobufWriting : jsonWriting;
    const isSocket = upgrade?.protocol === 'websocket';
    const sink = isSocket ? new SocketWatchSink(upgrade, writing) : new HttpWatchSink(response, writing, context.requestId);
    const request_ = { namespace: target.namespace, options: watchOptionsOf(query, target.name), awaitsVersion: true };
    const watch = this.#chain.prepare(context, () => this.#options.verbs.watch(store, request_, events, context));
    try {
      await watch.run(sink);
      sink.end();
    } catch (error) {
      if (!sink.begun) {
        // As in Kubernetes, what is wrong with the version alone is the first event.
        if (!isOfVersion(error)) throw error;
        sink.begin();
      }
      sink.end(error);
    }
  }

  async #stream({ request, response, context, upgrade }: Passing, route: StreamRoute): Promise<void> {
    context.identify();
    this.#chain.enter(context, 'stream');
    const prepared = this.#chain.prepare(context, () => route.prepare(context));
    await prepared.run({ request, response, upgrade, context });
  }

  /** What is no resource: discovery, OpenAPI, the version. */
  async #answerPath({ request, response, call, context }: Passing, { pathname, searchParams }: Target): Promise<void> {
    context.authorizePath(pathname);
    const { method = '', headers } = request;
    const answer = await this.#paths.answer({ path: pathname, query: searchParams, method, headers });
    const { code, contentType, body = Buffer.alloc(0) } = answer;
    this.#chain.holdAnswer(call, context, body.length, true);
    const isPretty =
      contentType === contentTypes.json && answer.headers?.etag === undefined && wantsPretty(request, searchParams);
    const shown = isPretty ? prettyJson(body) : body;
    // Documents of OpenAPI are kept compressed.
    const isEncoded = answer.headers?.['content-encoding'] !== undefined || code !== 200;
    const sent = isEncoded ? { bytes: shown, headers: {} } : await encodedFor(request, shown);
    const length = code === 304 ? {} : { length: sent.bytes.length };
    this.#head(response, context, code, contentType, { ...length, headers: { ...sent.headers, ...answer.headers } });
    response.end(method === 'HEAD' ? undefined : sent.bytes);
  }

  /** Answers with a Status, and gives the code of gRPC for it. */
  #refuse({ request, response, call, context, upgrade }: Passing, error: unknown, of: Partial<ResourcePath>): number {
    const { requestId } = context;
    const user = context.isIdentified ? context.identity.user : undefined;
    const known: ApiError = judgeError(this.#options.log, asApiError(error) ?? error, { method: call.method, requestId, user });
    context.audited?.ended(known);
    if (upgrade?.isSwitched) return codes[known.code];
    if (response.headersSent || response.destroyed) response.destroy();
    else {
      const status = statusOf(known, { ...this.#resources, ...of });
      const isProtobuf = prefersProtobuf(request.headers.accept);
      const isPretty = readsPretty(request);
      const body = isProtobuf ? statusProtobuf(status) : Buffer.from(JSON.stringify(status, null, isPretty ? 2 : 0));
      const retry = status.details?.retryAfterSeconds;
      announceEnd(request, response);
      this.#head(response, context, httpCodeOf(known), contentTypes[isProtobuf ? 'protobuf' : 'json'], {
        length: body.length,
        retry,
        isFailure: true,
        // What policies and webhooks warn of stays true of a refused write.
        warnings: context.warnings,
      });
      endAnswer(request, response, body);
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
      readonly headers?: Readonly<Record<string, string>> | undefined;
    },
  ): void {
    const { length, warnings = [], retry, isFailure = false } = more;
    const headers: Record<string, string | string[]> = { 'content-type': contentType, 'cache-control': 'no-cache, private' };
    if (length !== undefined) headers['content-length'] = String(length);
    if (retry !== undefined) headers['retry-after'] = String(retry);
    if (warnings.length > 0) headers.warning = warningHeaders(warnings);
    Object.assign(headers, more.headers);
    if (isFailure || context.isNamed) headers[REQUEST_ID] = context.requestId;
    headers[AUDIT_ID] = context.requestId;
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

const noBody = Buffer.alloc(0);

const wantedList = ({ request }: Passing, { store }: ResourceRequest): Wanted =>
  negotiate(request.headers.accept, { transform: true, protobuf: hasProtobuf(store.kind) });
