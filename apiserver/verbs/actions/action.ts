import { notFound } from '../../../api/errors/index.ts';
import type { WriteOptions } from '../../../api/generated/types.ts';
import type { KindName } from '../../../api/kinds/index.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import type { AccountTokens } from '../../authn/accounts/account-tokens.ts';
import type { NodeSums } from '../../registry/node-sums.ts';
import type { Registry } from '../../registry/registry.ts';
import type { CallContext } from '../call-context.ts';
import type { PreparedCall, Reply } from '../prepared-call.ts';

/** What clients send to an action. Over gRPC it is the field `object` of the message's "WriteRequest". */
export interface ActionBody {
  readonly kind: string;
  /** The versions that it is read in over HTTP; the first, where a body names none. */
  readonly apiVersions: readonly string[];
  readonly message: string;
  /** Never written to a log. */
  readonly confidential?: true;
}

/** A request of an action, as both doors read it. */
export interface ActionInput<T extends ApiObject = ApiObject> {
  /** Its metadata names the object that the action is done to. */
  readonly object: T;
  readonly options?: WriteOptions | undefined;
}

/** The answer of gRPC: an encoded message. */
export interface ActionReply extends Reply {
  readonly bytes: Buffer;
}

/** What the actions need of the server. */
export interface ActionDeps {
  readonly registry: Registry;
  readonly sums: NodeSums;
  /** What makes tokens; absent where there are no service accounts. */
  readonly accounts: AccountTokens | undefined;
}

/**
 * What can be done to an object besides the standard verbs. This value says all there is to say of it: the access of
 * gRPC's method, the subresource over HTTP, and discovery follow from it. To add one: the method in the proto of the
 * kind's service, a file here, and a line in `index.ts`.
 */
export interface Action<T extends ApiObject = ApiObject> {
  /** The id of the kind that it belongs to. */
  readonly of: KindName;
  /** The method of the kind's service: "Evict". */
  readonly method: string;
  /** What roles allow, and where it stands over HTTP: "create-eviction" is a POST to ".../eviction". */
  readonly access: `create-${string}` | `update-${string}`;
  readonly body: ActionBody;
  /** What HTTP answers: the changed object, the body with its result, or a Status that says that it is done. */
  readonly answer: 'object' | 'body' | 'status';
  /** Prepares it for a call that is authorized already. */
  prepare(request: ActionInput<T>, deps: ActionDeps, call: CallContext): PreparedCall<ActionReply>;
  /** An error as Kubernetes says it, where that differs. */
  asHttpError?(error: unknown): unknown;
}

/** Authorizes the call for the object that the request names, and prepares the action. */
export function prepareAction<T extends ApiObject>(
  action: Action<T>,
  request: ActionInput<T>,
  deps: ActionDeps,
  call: CallContext,
): PreparedCall<ActionReply> {
  const { namespace = '', name = '' } = request.object.metadata ?? {};
  const store = deps.registry.stores.get(action.of);
  if (!store) throw notFound({ kind: 'resource', name: action.of });
  call.authorize({ verb: action.access, kind: action.of, namespace: store.kind.namespaced ? namespace : '', name });
  return action.prepare(request, deps, call);
}

/** Kubernetes' verb and the subresource. */
export function placeOfAction({ access }: Pick<Action, 'access'>): {
  readonly verb: 'create' | 'update';
  readonly subresource: string;
} {
  const dash = access.indexOf('-');
  return { verb: access.slice(0, dash) as 'create' | 'update', subresource: access.slice(dash + 1) };
}
