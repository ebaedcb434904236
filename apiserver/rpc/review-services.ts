import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
import { badRequest } from '../../api/errors/index.ts';
import type {
  PolicyRule,
  ResourceAttributes,
  SelfSubjectAccessReviewSpec,
  SelfSubjectAccessReviewWriteRequest,
  SelfSubjectReviewWriteRequest,
  SelfSubjectRulesReviewWriteRequest,
  SubjectAccessReviewStatus,
  SubjectAccessReviewWriteRequest,
} from '../../api/generated/types.ts';
import { parseFieldSelector } from '../../api/meta/fields.ts';
import type { Attributes } from '../auth/attributes.ts';
import type { Authorizer } from '../auth/authorizer.ts';
import { type Identity, isMaster, isNode } from '../auth/identity.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { serviceDefinition } from './definitions.ts';
import type { CallContext, Door, UnaryHandler } from './door.ts';

const AUTHORIZATION = 'berth.authorization.v1';
const AUTHENTICATION = 'berth.authentication.v1';

/** A service that answers questions about who may do what, or who somebody is; each has the one method Create. */
interface ReviewService {
  readonly name: string;
  readonly definition: ReturnType<typeof serviceDefinition>;
  readonly implementation: UntypedServiceImplementation;
}

/** Kubernetes' reviews. Nothing is stored; the question comes back with its answer. */
export function reviewServices(door: Door): ReviewService[] {
  const service = (name: string, create: UnaryHandler): ReviewService => ({
    name,
    definition: serviceDefinition(name),
    implementation: { Create: door.unary(create) },
  });
  return [
    service(`${AUTHENTICATION}.SelfSubjectReviews`, async (request, call) => {
      review(call, 'SelfSubjectReview');
      const { object = {} } = read<SelfSubjectReviewWriteRequest>(`${AUTHENTICATION}.SelfSubjectReview`, request);
      const { user, groups } = call.identity;
      const status = { userInfo: { username: user, groups: [...groups] } };
      return { bytes: encodeMessage(`${AUTHENTICATION}.SelfSubjectReview`, { ...object, status }) };
    }),
    service(`${AUTHORIZATION}.SelfSubjectAccessReviews`, async (request, call) => {
      review(call, 'SelfSubjectAccessReview');
      const { object = {} } = read<SelfSubjectAccessReviewWriteRequest>(`${AUTHORIZATION}.SelfSubjectAccessReview`, request);
      const status = judge(call.authorizer, call.identity, object.spec ?? {});
      return { bytes: encodeMessage(`${AUTHORIZATION}.SelfSubjectAccessReview`, { ...object, status }) };
    }),
    service(`${AUTHORIZATION}.SubjectAccessReviews`, async (request, call) => {
      review(call, 'SubjectAccessReview');
      const { object = {} } = read<SubjectAccessReviewWriteRequest>(`${AUTHORIZATION}.SubjectAccessReview`, request);
      const { user = '', groups = [] } = object.spec ?? {};
      if (user === '' && groups.length === 0) throw badRequest('name the user, or groups, whose rights are asked for');
      const status = judge(call.authorizer, { user, groups }, object.spec ?? {});
      return { bytes: encodeMessage(`${AUTHORIZATION}.SubjectAccessReview`, { ...object, status }) };
    }),
    service(`${AUTHORIZATION}.SelfSubjectRulesReviews`, async (request, call) => {
      review(call, 'SelfSubjectRulesReview');
      const { object = {} } = read<SelfSubjectRulesReviewWriteRequest>(`${AUTHORIZATION}.SelfSubjectRulesReview`, request);
      const status = rulesIn(call.authorizer, call.identity, object.spec?.namespace ?? '');
      return { bytes: encodeMessage(`${AUTHORIZATION}.SelfSubjectRulesReview`, { ...object, status }) };
    }),
  ];
}

function read<T extends object>(kind: string, request: Uint8Array): T {
  return decodeStrictly<T>(`${kind}WriteRequest`, request, 'request');
}

function review(call: CallContext, kind: string): void {
  call.authorize({ verb: 'create', kind, namespace: '', name: '' });
}

function judge(authorizer: Authorizer, identity: Identity, spec: SelfSubjectAccessReviewSpec): SubjectAccessReviewStatus {
  const { resourceAttributes: wanted, nonResourceAttributes: path } = spec;
  if ((wanted === undefined) === (path === undefined))
    throw badRequest('ask about either resourceAttributes or nonResourceAttributes');
  const allowed = wanted
    ? authorizer.allows(identity, attributesIn(wanted))
    : authorizer.mayPath(identity, path?.verb ?? '', path?.path ?? '');
  if (allowed) return { allowed, reason: isMaster(identity) ? 'the group system:masters may do everything' : '' };
  return {
    allowed,
    reason: isNode(identity) ? 'a node may do only what it needs for itself and for its pods' : 'no role allows it',
  };
}

function attributesIn(wanted: ResourceAttributes): Attributes {
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '', fieldSelector } = wanted;
  const selected: Record<string, string> = {};
  for (const { field, operator, value } of parseFieldSelector(fieldSelector?.rawSelector ?? '').requirements)
    if (operator === '=') selected[field] = value;
  for (const { key = '', operator, values = [] } of fieldSelector?.requirements ?? [])
    if (operator === 'In' && values.length === 1) selected[key] = values[0]!;
  return { verb, group, resource, subresource, namespace, name: name || (selected['metadata.name'] ?? ''), selected };
}

/** What is allowed in a namespace: everywhere, and there. */
function rulesIn(authorizer: Authorizer, identity: Identity, namespace: string) {
  const all: PolicyRule[] = isMaster(identity)
    ? [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        { verbs: ['*'], nonResourceURLs: ['*'] },
      ]
    : [...new Set(['', namespace])].flatMap((place) => [...(authorizer.rulesOf(identity).rules.get(place) ?? [])]);
  const hasPaths = ({ nonResourceURLs = [] }: PolicyRule): boolean => nonResourceURLs.length > 0;
  return {
    resourceRules: all.filter((rule) => !hasPaths(rule)).map(({ nonResourceURLs: _, ...rule }) => rule),
    nonResourceRules: all.filter(hasPaths).map(({ verbs = [], nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
    incomplete: isNode(identity),
    evaluationError: isNode(identity) ? 'a node may do more, about itself and its pods, which no rule says' : '',
  };
}
