import { encodeMessage } from '../../api/codec/message.ts';
import { ApiError, asApiError, type FieldViolation, notFound, unimplemented } from '../../api/errors/index.ts';
import type { Binding, Eviction, Namespace, TokenRequest, WriteOptions } from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { isJsonObject } from '../../api/meta/merge-patch.ts';
import type { AccountTokens } from '../authn/accounts/account-tokens.ts';
import type { TokenKeys } from '../authn/accounts/token-keys.ts';
import { decodeObject, parseJson } from '../registry/decode.ts';
import type { NodeSums } from '../registry/node-sums.ts';
import { isLenient, leftOutWarnings } from '../registry/prune.ts';
import type { Registry } from '../registry/registry.ts';
import type { CallContext } from '../verbs/call-context.ts';
import { fieldValidationOf } from '../verbs/call-write.ts';
import type { PreparedCall } from '../verbs/prepared-call.ts';
import { answerReview, type ReviewKind, type Reviews, type ReviewTokens, reviewPackages } from '../verbs/reviews.ts';
import { prepareBind, prepareEvict, prepareFinalize } from '../verbs/special-writes.ts';
import { otherPlace } from '../verbs/standard-writes.ts';
import { prepareToken } from '../verbs/token-requests.ts';
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

/** What the actions need of the server. */
export interface ActionDeps {
  readonly registry: Registry;
  readonly sums: NodeSums;
  readonly reviewTokens: ReviewTokens;
  /** What makes tokens; absent where there are no service accounts. */
  readonly accounts: AccountTokens | undefined;
  readonly tokenKeys: TokenKeys;
  /** The schedulers that are connected. */
  readonly schedulers: Schedulers;
}

type Act = (body: Buffer, call: CallContext, form: AnswerForm) => PreparedCall;

const binding = bodyKind({ kind: 'Binding', apiVersion: 'v1', message: 'berth.core.v1.Binding' });
const namespace = bodyKind({ kind: 'Namespace', apiVersion: 'v1', message: 'berth.core.v1.Namespace' });
const evictions = ['policy/v1', 'policy/v1beta1'].map((apiVersion) =>
  bodyKind({ kind: 'Eviction', apiVersion, message: 'berth.policy.v1.Eviction' }),
);
const tokenRequest = bodyKind({
  ...{ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', message: 'berth.authentication.v1.TokenRequest' },
  confidential: true,
});

/** How a request is served that is about no stored object, or does something to one; undefined for all others. */
export function actionRoute(of: ActionRequest, deps: ActionDeps): UnaryRoute | DocumentRoute | undefined {
  const { group, version, resource, subresource, rest } = of.target;
  if (rest !== '' && subresource !== 'proxy') throw noSuchResource(`the path "${of.request.url}"`);
  const virtual = findVirtual(group, version, resource);
  if (virtual) return virtualRoute(virtual, of, deps);
  return group === '' && version === 'v1' ? subresourceRoute(of, deps) : undefined;
}

function virtualRoute(virtual: VirtualResource, of: ActionRequest, deps: ActionDeps): UnaryRoute | DocumentRoute {
  const { request, target } = of;
  checkPlace(virtual, target);
  if (target.isWatch) throw unimplemented(`${virtual.resource} of ${virtual.apiVersion} cannot be watched`);
  if (virtual.kind === 'ComponentStatus') return componentsRoute(of, deps);
  if (virtual.verbs.includes('get')) return metricsRoute(virtual, of, deps.registry);
  if (request.method !== 'POST' || target.name !== '') throw notThere(of);
  if (virtual.kind === 'Binding') return created(`${podService(deps)}/Bind`, bindAct(of, deps));
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

function subresourceRoute(of: ActionRequest, deps: ActionDeps): UnaryRoute | DocumentRoute | undefined {
  const { request, target } = of;
  if (target.subresource === '' || target.isWatch) return undefined;
  const verb = (method: string, route: () => UnaryRoute): UnaryRoute => {
    if (request.method !== method) throw notThere(of);
    return route();
  };
  switch (`${target.resource}/${target.subresource}`) {
    case 'pods/binding':
      return verb('POST', () => created(`${podService(deps)}/Bind`, bindAct(of, deps)));
    case 'pods/eviction':
      return verb('POST', () => created(`${podService(deps)}/Evict`, evictAct(of, deps)));
    case 'serviceaccounts/token':
      return verb('POST', () => created('berth.core.v1.ServiceAccounts/CreateToken', tokenAct(of, deps)));
    case 'namespaces/finalize':
      return verb('PUT', () => ({ ...created('berth.core.v1.Namespaces/Finalize', finalizeAct(of, deps)), code: 200 }));
    default:
      return undefined;
  }
}

const podService = ({ registry }: ActionDeps): string => registry.store('Pod').kind.service;

const created = (method: string, prepare: Act): UnaryRoute => ({
  ...{ of: 'unary', method: `/${method}`, hasBody: true, code: 201, prepare },
});

function bindAct(of: ActionRequest, { registry, sums }: ActionDeps): Act {
  return (body, call, form) => {
    const { object, options } = readBodyOf<Binding>(of, body, binding, call);
    placed(object, of.target);
    const deps = { pods: registry.store('Pod'), nodes: registry.store('Node'), sums };
    return success(prepareBind(deps, { object, options }, call), form);
  };
}

function evictAct(of: ActionRequest, { registry }: ActionDeps): Act {
  return (body, call, form) => {
    const { object, options } = readBodyOf<Eviction>(of, body, evictionKind(of.request, body), call);
    placed(object, of.target);
    const deps = { pods: registry.store('Pod'), budgets: registry.store('PodDisruptionBudget') };
    const prepared = prepareEvict(deps, { object, options }, call);
    return success({ run: () => prepared.run().catch((error: unknown) => Promise.reject(asRefusedEviction(error))) }, form);
  };
}

/** A body says which of the two versions it is of. */
function evictionKind(request: HttpRequest, body: Buffer): Kind {
  const [newest, older] = evictions as [Kind, Kind];
  const type = mediaTypeOf(request);
  if (type === 'application/vnd.kubernetes.protobuf') return openEnvelope(body).apiVersion === older.apiVersion ? older : newest;
  const json = parseJson(objectBody(type, body, newest).bytes, 'eviction');
  return isJsonObject(json) && json.apiVersion === older.apiVersion ? older : newest;
}

/** As Kubernetes says it: without a time, so that no client library waits by itself for what may take hours. */
function asRefusedEviction(error: unknown): unknown {
  const known = asApiError(error);
  if (known?.reason !== 'DisruptionBudget') return error;
  const message = "Cannot evict pod as it would violate the pod's disruption budget.";
  const cause = { reason: known.reason, description: known.message, field: '' };
  return new ApiError(known.code, 'TooManyRequests', message, { violations: [cause] });
}

function tokenAct(of: ActionRequest, { accounts }: ActionDeps): Act {
  return (body, call, form) => {
    if (!accounts) throw notFound({ kind: 'resource', name: 'serviceaccounts/token' });
    const { object } = readBodyOf<TokenRequest>(of, body, tokenRequest, call);
    placed(object, of.target);
    const prepared = prepareToken(accounts, object, call);
    const answer = async () => encodeMessage(tokenRequest.message, await prepared.run());
    return { run: async () => ({ bytes: form.encode(tokenRequest, await answer()) }) };
  };
}

function finalizeAct(of: ActionRequest, { registry }: ActionDeps): Act {
  return (body, call, form) => {
    const { object, options } = readBodyOf<Namespace>(of, body, namespace, call);
    placed(object, of.target);
    const store = registry.store('Namespace');
    const prepared = prepareFinalize(store, { object, options }, call);
    return {
      run: async () => {
        const { bytes, warnings } = await prepared.run();
        return { bytes: form.encode(store.kind, bytes), warnings };
      },
    };
  };
}

/** What was done is answered with a Status. */
const success = (prepared: PreparedCall, form: AnswerForm): PreparedCall => ({
  run: async () => {
    const { warnings = [] } = await prepared.run();
    return { bytes: form.status(successOf({ code: 201 })), warnings };
  },
});

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
