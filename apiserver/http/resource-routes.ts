import { messageFromJson } from '../../api/codec/json.ts';
import { badRequest, unimplemented } from '../../api/errors/index.ts';
import type { DeleteOptions, ListOptions } from '../../api/generated/types.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { scaleKind } from '../../api/kinds/scale.ts';
import { isJsonObject } from '../../api/meta/merge-patch.ts';
import { APPLY_TYPES } from '../registry/apply/apply-config.ts';
import { decodeStrictly, parseJson } from '../registry/decode.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { isScale } from '../registry/scale.ts';
import { servedKind } from '../registry/store-version.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { PreparedCall } from '../verbs/prepared-call.ts';
import type { Verbs } from '../verbs/verbs.ts';
import type { Wanted } from './answers/accept.ts';
import type { AnswerForm, IncludeObject } from './answers/object-forms.ts';
import { completeDeletion, deletionForm } from './deletions.ts';
import { noSuchResource } from './errors/no-such-resource.ts';
import { type StatusObject, successOf } from './errors/status-object.ts';
import type { HttpRequest } from './http-call.ts';
import { openEnvelope } from './protobuf/kubernetes-protobuf.ts';
import { dropGoZeros } from './requests/go-zeros.ts';
import type { ResourcePath } from './requests/parse-path.ts';
import { mediaTypeOf, objectBody, unsupported } from './requests/read-body.ts';
import { flag, getOptionsOf, listOptionsOf } from './requests/read-query.ts';
import { checkedDeleteOptions, checkedPatchOptions, checkedWriteOptions } from './requests/write-options.ts';
import { partsOfKind } from './subresources.ts';

/** A request of a resource, as far as its path and its method say. */
export interface ActionRequest {
  readonly request: HttpRequest;
  readonly target: ResourcePath;
  readonly query: URLSearchParams;
}

/** The same for objects that are kept. */
export interface ResourceRequest extends ActionRequest {
  readonly store: KindStore;
}

/** How a request is served. `method` names it as gRPC does, for the access table and the meters. */
export type Route = UnaryRoute | DocumentRoute | ListRoute | CollectionRoute;

export interface UnaryRoute {
  readonly of: 'unary';
  readonly method: string;
  readonly hasBody: boolean;
  readonly code: number;
  readonly prepare: Prepare;
}

export interface DocumentRoute {
  readonly of: 'document';
  readonly method: string;
  readonly prepare: PrepareDocument;
  /** The same in another form, for clients that want one. */
  readonly transform?: (document: object, wanted: Wanted, include: IncludeObject) => object;
}

export interface ListRoute {
  readonly of: 'list' | 'watch';
  readonly method: string;
}

/** A deletion of what a list selects. */
export interface CollectionRoute {
  readonly of: 'collection';
  readonly method: string;
  /** Decodes and authorizes. */
  readonly prepare: (body: Buffer, call: CallContext) => PreparedDeletion;
}

export interface PreparedDeletion {
  /** Carries it out, and gives the options of the list of what was deleted. */
  run(): Promise<{ readonly options: ListOptions; readonly warnings: readonly string[] }>;
}

/** Decodes and authorizes; the answer is one object in the form. */
export type Prepare = (body: Buffer, call: CallContext, form: AnswerForm) => PreparedCall;
/** Authorizes; what it gives makes the answer, which is JSON of no kind. */
export type PrepareDocument = (call: CallContext) => () => object | Promise<object>;

const OBJECTS = 'berth.meta.v1.Objects';
const methodOf = (kind: Kind, name: string): string => `/${isCustom(kind) ? OBJECTS : kind.service}/${name}`;

/** Throws METHOD_NOT_ALLOWED for what the resource does not have. */
export function routeOf(of: ResourceRequest, verbs: Verbs): UnaryRoute | ListRoute | CollectionRoute {
  const { store, target, request, query } = of;
  const { kind } = store;
  checkPlace(kind, target);
  const unary = (name: string, prepare: Prepare, { hasBody = true, code = 200 } = {}): UnaryRoute => ({
    ...{ of: 'unary', method: methodOf(kind, name), hasBody, code, prepare },
  });
  if (target.isWatch) {
    if (request.method !== 'GET' || target.subresource !== '') throw notThere(of);
    return { of: 'watch', method: methodOf(kind, 'Watch') };
  }
  checkPart(kind, target);
  switch (request.method) {
    case 'GET':
      if (target.name === '') {
        const isWatch = flag(query, 'watch') === true;
        return isWatch ? { of: 'watch', method: methodOf(kind, 'Watch') } : { of: 'list', method: methodOf(kind, 'List') };
      }
      return unary(...getRoute(of, verbs), { hasBody: false });
    case 'POST':
      if (target.name !== '' || (kind.namespaced && target.namespace === '')) throw notThere(of);
      return unary('Create', (body, call, form) => verbs.write(writeOf(of, 'create', body, form), call), { code: 201 });
    case 'PUT':
      if (target.name === '') throw notThere(of);
      return unary(...putRoute(of, verbs));
    case 'PATCH':
      if (target.name === '') throw notThere(of);
      return unary(...patchRoute(of, verbs));
    case 'DELETE':
      if (target.subresource !== '') throw notThere(of);
      return target.name === '' ? collectionRoute(of, verbs) : unary(...deleteRoute(of, verbs));
    default:
      throw notThere(of);
  }
}

type Served = readonly [name: string, prepare: Prepare];

/**
 * A cluster-wide kind has no namespace; an object of any other stands in one. As in Kubernetes other paths are no
 * resource.
 */
function checkPlace({ namespaced, plural }: Kind, { namespace, name }: ResourcePath): void {
  if (namespace !== '' && !namespaced) throw noSuchResource(`the resource "${plural}" in a namespace`);
  if (namespace === '' && name !== '' && namespaced) throw noSuchResource(`an object of "${plural}" without a namespace`);
}

/** A subresource that the kind does not have is no resource at all: NOT_FOUND. */
function checkPart(kind: Kind, { resource, subresource }: ResourcePath): void {
  if (subresource === '' || partsOfKind(kind).some(({ name }) => name === `${kind.plural}/${subresource}`)) return;
  throw noSuchResource(`the subresource "${resource}/${subresource}"`);
}

/** METHOD_NOT_ALLOWED. */
export function notThere({ request, target: { resource, name, subresource } }: ActionRequest): Error {
  const what = subresource !== '' ? `${resource}/${subresource}` : name === '' ? `the collection of ${resource}` : resource;
  return unimplemented(`${request.method} is not served for ${what}`);
}

/** Whether the subresource shows the object itself: its status, or a part of its spec. */
const showsObject = ({ hasStatus, subresources = {} }: Kind, subresource: string): boolean =>
  subresource === '' || (hasStatus && subresource === 'status') || Object.hasOwn(subresources, subresource);

function getRoute(of: ResourceRequest, verbs: Verbs): Served {
  const { store, target, query } = of;
  const { namespace, name, subresource } = target;
  const wanted = { namespace, name, ...getOptionsOf(query) };
  if (isScale(store, subresource))
    return [isCustom(store.kind) ? 'Get' : 'GetScale', (_, call, form) => verbs.getScale(store, wanted, call, form)];
  if (!showsObject(store.kind, subresource)) throw notThere(of);
  return ['Get', (_, call, form) => verbs.get(store, wanted, call, form)];
}

function putRoute(of: ResourceRequest, verbs: Verbs): Served {
  const { store, target } = of;
  const { kind } = store;
  const { subresource } = target;
  const isStatus = subresource === 'status' && kind.hasStatus;
  if (!isScale(store, subresource) && !showsObject(kind, subresource)) throw notThere(of);
  const name = isStatus
    ? 'UpdateStatus'
    : isScale(store, subresource)
      ? 'UpdateScale'
      : (kind.subresources?.[subresource]?.method ?? 'Update');
  return [
    isCustom(kind) && !isStatus ? 'Update' : name,
    (body, call, form) => verbs.write(writeOf(of, isStatus ? 'updateStatus' : 'update', body, form), call),
  ];
}

const STRATEGIC = 'application/strategic-merge-patch+json';
const patchTypes = ['application/json-patch+json', 'application/merge-patch+json', STRATEGIC, ...APPLY_TYPES];
/** A strategic merge goes by what the types of Go say of lists: custom kinds have none. */
const customPatchTypes = patchTypes.filter((type) => type !== STRATEGIC);

function patchRoute(of: ResourceRequest, verbs: Verbs): Served {
  const { store, target, query, request } = of;
  const { namespace, name, subresource } = target;
  if (!isScale(store, subresource) && !showsObject(store.kind, subresource)) throw notThere(of);
  return [
    isScale(store, subresource) && !isCustom(store.kind) ? 'PatchScale' : 'Patch',
    (patch, call, form) => {
      const type = mediaTypeOf(request);
      const known = isCustom(store.kind) ? customPatchTypes : patchTypes;
      if (!known.includes(type)) throw unsupported(type, known);
      const options = checkedPatchOptions(query, APPLY_TYPES.includes(type));
      return verbs.patch({ store, patch: { namespace, name, type, patch, subresource, options }, form }, call);
    },
  ];
}

function deleteRoute({ store, target, query, request }: ResourceRequest, verbs: Verbs): Served {
  const { namespace, name } = target;
  return [
    'Delete',
    (body, call, form) => {
      const { options, warnings } = completeDeletion(checkedDeleteOptions(query, deleteBody(request, body)), store);
      const prepared = verbs.delete({ store, delete: { namespace, name, options }, form: deletionForm(form, store) }, call);
      return {
        run: async () => {
          const reply = await prepared.run();
          return { ...reply, warnings: [...warnings, ...(reply.warnings ?? [])] };
        },
      };
    },
  ];
}

/** Answered with the list of what was deleted, as it was. */
function collectionRoute(of: ResourceRequest, verbs: Verbs): CollectionRoute {
  const { store, target, query, request } = of;
  if (store.kind.namespaced && target.namespace === '') throw notThere(of);
  return {
    of: 'collection',
    method: methodOf(store.kind, 'DeleteCollection'),
    prepare(body, call) {
      const { options, warnings } = completeDeletion(checkedDeleteOptions(query, deleteBody(request, body)), store);
      const listOptions = listOptionsOf(query);
      const prepared = verbs.deletion(store, { namespace: target.namespace, listOptions, options }, call);
      return {
        async run() {
          const { listed } = await prepared.run();
          const { resourceVersion: _, resourceVersionMatch: __, ...rest } = listOptions;
          return { options: { ...rest, continue: listed }, warnings };
        },
      };
    },
  };
}

/** An object of another kind is refused: to read it as options that say nothing would delete what was not meant. */
function deleteBody(request: HttpRequest, body: Buffer): DeleteOptions {
  if (body.length === 0) return {};
  const message = 'berth.meta.v1.DeleteOptions';
  const refused = 'the body of a delete must hold DeleteOptions';
  if (mediaTypeOf(request) === 'application/vnd.kubernetes.protobuf') {
    const { kind, bytes } = openEnvelope(body);
    if (kind !== '' && kind !== OPTIONS) throw badRequest(`${refused}, not ${JSON.stringify(kind)}`);
    return decodeStrictly<DeleteOptions>(message, bytes, 'options');
  }
  const json = parseJson(body, 'options');
  if (!isJsonObject(json)) throw badRequest(`${refused}, an object`);
  const { kind = OPTIONS, apiVersion: _, ...options } = json;
  if (kind !== OPTIONS && kind !== '' && kind !== null) throw badRequest(`${refused}, not ${JSON.stringify(kind)}`);
  return messageFromJson<DeleteOptions>(message, options);
}

const OPTIONS = 'DeleteOptions';

function writeOf(
  { store, target, query, request }: ResourceRequest,
  verb: 'create' | 'update' | 'updateStatus',
  body: Buffer,
  form: AnswerForm,
) {
  const { namespace, name } = target;
  const subresource = verb === 'updateStatus' ? '' : target.subresource;
  const kind = isScale(store, subresource) ? scaleKind : servedKind(store);
  const { bytes, format } = objectBody(mediaTypeOf(request), body, kind);
  return {
    verb,
    store,
    object: bytes,
    format,
    options: checkedWriteOptions(query, verb === 'create' ? 'CreateOptions' : 'UpdateOptions'),
    subresource,
    namespace,
    at: { namespace, name },
    isPut: verb === 'update' && subresource === '',
    form,
    namesKind: isCustom(kind),
    interpret: dropGoZeros,
  };
}

/** The answer of a deletion whose objects cannot be listed any more. */
export function collectionDeleted({ kind }: KindStore): StatusObject {
  const group = groupOf(kind.apiVersion);
  return successOf({ details: { ...(group && { group }), kind: kind.plural } });
}
