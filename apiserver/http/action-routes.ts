import { encodeMessage } from '../../api/codec/message.ts';
import { type FieldViolation, unimplemented } from '../../api/errors/index.ts';
import type { WriteOptions } from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { isJsonObject } from '../../api/meta/merge-patch.ts';
import type { TokenKeys } from '../authn/accounts/token-keys.ts';
import { decodeObject, parseJson } from '../registry/decode.ts';
import { isLenient, leftOutWarnings } from '../registry/prune.ts';
import { type Action, type ActionDeps as ActionNeeds, placeOfAction, prepareAction } from '../verbs/actions/action.ts';
import { bind } from '../verbs/actions/bind.ts';
import { actions } from '../verbs/actions/index.ts';
import type { CallContext } from '../verbs/call-context.ts';
import { fieldValidationOf } from '../verbs/call-write.ts';
import type { PreparedCall } from '../verbs/prepared-call.ts';
import { answerReview, type ReviewKind, type Reviews, type ReviewTokens, reviewPackages } from '../verbs/reviews.ts';
import { otherPlace } from '../verbs/standard-writes.ts';
import type { AnswerForm } from './answers/object-forms.ts';
import { componentsRoute, type Schedulers } from './component-statuses.ts';
import { findVirtual, type VirtualResource } from './discovery/virtual-resources.ts';
import { noSuchResource } from './errors/no-such-resource.ts';
import { successOf } from './errors/status-object.ts';
import type { HttpRequest } from './http-call.ts';
import { metricsRoute } from './metrics/metrics-routes.ts';
import { openEnvelope } from './protobuf/kubernetes-protobuf.ts';
import { bodyKind } from './requests/body-kinds.ts';
import { dropGoZeros } from './requests/go-zeros.ts';
import type { ResourcePath } from './requests/parse-path.ts';
import { mediaTypeOf, objectBody } from './requests/read-body.ts';
import { checkedWriteOptions } from './requests/write-options.ts';
import { type ActionRequest, type DocumentRoute, notThere, type UnaryRoute } from './resource-routes.ts';

/** What serves requests of no stored object needs of the server. */
export interface ActionDeps extends ActionNeeds {
  readonly reviewTokens: ReviewTokens;
  readonly tokenKeys: TokenKeys;
  /** The schedulers that are connected. */
  readonly schedulers: Schedulers;
}

type Act = (body: Buffer, call: CallContext, form: AnswerForm) => PreparedCall;

/** How a request is served that is about no stored object, or does something to one; undefined for all others. */
export function actionRoute(of: ActionRequest, deps: ActionDeps): UnaryRoute | DocumentRoute | undefined {
  const { group, version, resource, subresource, rest } = of.target;
  if (rest !== '' && subresource !== 'proxy') throw noSuchResource(`the path "${of.request.url}"`);
  const virtual = findVirtual(group, version, resource);
  if (virtual) return virtualRoute(virtual, of, deps);
  return actionAt(of, deps);
}

function virtualRoute(virtual: VirtualResource, of: ActionRequest, deps: ActionDeps): UnaryRoute | DocumentRoute {
  const { request, target } = of;
  checkPlace(virtual, target);
  if (target.isWatch) throw unimplemented(`${virtual.resource} of ${virtual.apiVersion} cannot be watched`);
  if (virtual.kind === 'ComponentStatus') return componentsRoute(of, deps);
  if (virtual.verbs.includes('get')) return metricsRoute(virtual, of, deps.registry);
  if (request.method !== 'POST' || target.name !== '') throw notThere(of);
  if (virtual.kind === 'Binding') return routeOf(bind, deps.registry.store(bind.of).kind, of, deps);
  const kind = virtual.kind as ReviewKind;
  const message = `${reviewPackages[kind]}.${kind}`;
  return created(`${message}s/Create`, (body, call, form) => {
    const confidential = kind === 'TokenReview' ? ({ confidential: true } as const) : {};
    const read = bodyKind({ kind, apiVersion: virtual.apiVersion, message, ...confidential });
    const { object } = readBodyOf<Reviews[typeof kind]>(of, body, read, call);
    if (virtual.namespaced) placed(object, target);
    const bytes = encodeMessage(message, answerReview(kind, object, call, deps.reviewTokens));
    return { run: async () => ({ bytes: form.encode(read, bytes) }) };
  });
}

/** How a request of an action is served; undefined for a path that names none. */
function actionAt(of: ActionRequest, deps: ActionDeps): UnaryRoute | undefined {
  const { request, target } = of;
  if (target.subresource === '' || target.isWatch) return undefined;
  const apiVersion = target.group === '' ? target.version : `${target.group}/${target.version}`;
  for (const action of actions) {
    const { verb, subresource } = placeOfAction(action);
    const kind = deps.registry.stores.get(action.of)?.kind;
    if (subresource !== target.subresource || kind?.plural !== target.resource || kind.apiVersion !== apiVersion) continue;
    if (request.method !== (verb === 'create' ? 'POST' : 'PUT')) throw notThere(of);
    return routeOf(action, kind, of, deps);
  }
  return undefined;
}

function routeOf(action: Action, kind: Kind, of: ActionRequest, deps: ActionDeps): UnaryRoute {
  const prepare: Act = (body, call, form) => {
    const sent = bodyKindOf(action, of.request, body);
    const { object, options } = readBodyOf<ApiObject>(of, body, sent, call);
    placed(object, of.target);
    const prepared = prepareAction(action, { object, options }, deps, call);
    const run = async () => {
      const { bytes, warnings = [] } = await prepared.run();
      if (action.answer === 'status') return { bytes: form.status(successOf({ code: 201 })), warnings };
      return { bytes: form.encode(action.answer === 'object' ? kind : sent, bytes), warnings };
    };
    const asHttpError = (error: unknown) => Promise.reject(action.asHttpError?.(error) ?? error);
    return { run: () => run().catch(asHttpError) };
  };
  const code = placeOfAction(action).verb === 'create' ? 201 : 200;
  return { ...created(`${kind.service}/${action.method}`, prepare), code };
}

const created = (method: string, prepare: Act): UnaryRoute => ({
  ...{ of: 'unary', method: `/${method}`, hasBody: true, code: 201, prepare },
});

/** The version that the body says it is of: the first of the action's, where it says none of them. */
function bodyKindOf({ body: sent }: Action, request: HttpRequest, body: Buffer): Kind {
  const { apiVersions, ...names } = sent;
  const kinds = apiVersions.map((apiVersion) => bodyKind({ ...names, apiVersion }));
  const [newest] = kinds as [Kind];
  if (kinds.length === 1) return newest;
  return kinds.find(({ apiVersion }) => apiVersion === versionOf(request, body, newest)) ?? newest;
}

function versionOf(request: HttpRequest, body: Buffer, kind: Kind): unknown {
  const type = mediaTypeOf(request);
  if (type === 'application/vnd.kubernetes.protobuf') return openEnvelope(body).apiVersion;
  const json = parseJson(objectBody(type, body, kind).bytes, kind.singular);
  return isJsonObject(json) ? json.apiVersion : undefined;
}

function readBodyOf<T extends ApiObject>(
  { request, query }: ActionRequest,
  body: Buffer,
  kind: Kind,
  call: CallContext,
): { readonly object: T; readonly options: WriteOptions } {
  const options = checkedWriteOptions(query, 'CreateOptions');
  const { bytes, format } = objectBody(mediaTypeOf(request), body, kind);
  const fieldValidation = fieldValidationOf(options.fieldValidation);
  const leftOut: FieldViolation[] | undefined = isLenient(options) ? [] : undefined;
  const object = decodeObject(kind, bytes, format, { fieldValidation, leftOut, interpret: dropGoZeros }) as T;
  for (const warning of leftOutWarnings(leftOut, fieldValidation)) call.warn(warning);
  return { object, options };
}

/** The path says where an object stands that does not say it itself. Throws BAD_REQUEST when they disagree. */
function placed(object: ApiObject, at: { readonly namespace: string; readonly name: string }): void {
  for (const key of ['namespace', 'name'] as const) {
    if (at[key] === '') continue;
    const said = object.metadata?.[key] || at[key];
    if (said !== at[key]) throw otherPlace(key, said, at[key]);
    object.metadata = { ...object.metadata, [key]: said };
  }
}

function checkPlace({ namespaced, resource, verbs }: VirtualResource, { namespace: place, name }: ResourcePath): void {
  if (place !== '' && !namespaced) throw noSuchResource(`the resource "${resource}" in a namespace`);
  if (place === '' && namespaced && name !== '') throw noSuchResource(`an object of "${resource}" without a namespace`);
  if (place === '' && namespaced && verbs.includes('create'))
    throw unimplemented(`${resource} are in namespaces: name one in the path`);
}
