import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
import { ApiError, badRequest } from '../../api/errors/index.ts';
import type {
  LocalSubjectAccessReviewWriteRequest,
  PolicyRule,
  ResourceAttributes,
  SelfSubjectAccessReviewSpec,
  SelfSubjectAccessReviewWriteRequest,
  SelfSubjectReviewWriteRequest,
  SelfSubjectRulesReviewWriteRequest,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
  SubjectAccessReviewWriteRequest,
  TokenReview,
  TokenReviewWriteRequest,
  UserInfo,
} from '../../api/generated/types.ts';
import { parseFieldSelector } from '../../api/meta/fields.ts';
import { parseLabelSelector } from '../../api/meta/labels.ts';
import { checkSelectorTerms } from '../../api/meta/selector-bounds.ts';
import { type AccountTokens, TOKEN_ISSUER } from '../authn/accounts/account-tokens.ts';
import { type Identity, isMaster, isNode, known } from '../authn/identity.ts';
import type { TokenTable } from '../authn/tokens.ts';
import type { Attributes } from '../authz/attributes.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { PrepareCall } from '../verbs/prepared-call.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

const AUTHORIZATION = 'berth.authorization.v1';
const AUTHENTICATION = 'berth.authentication.v1';

/** A service of reviews of access or identity; each has the one method Create. */
interface ReviewService {
  readonly name: string;
  readonly definition: ReturnType<typeof serviceDefinition>;
  readonly implementation: UntypedServiceImplementation;
}

/** Looks up the tokens of TokenReviews. */
export interface ReviewTokens {
  /** Absent where there are no service accounts. */
  readonly accounts: Pick<AccountTokens, 'review'> | undefined;
  readonly all: TokenTable;
}

/** Kubernetes' reviews. Nothing is stored; the question comes back with its answer. */
export function reviewServices(pipeline: CallPipeline, tokens: ReviewTokens): ReviewService[] {
  const service = (name: string, create: PrepareCall): ReviewService => ({
    name,
    definition: serviceDefinition(name),
    implementation: { Create: pipeline.unary(create) },
  });
  return [
    service(`${AUTHENTICATION}.SelfSubjectReviews`, (request, call) => {
      review(call, 'SelfSubjectReview');
      const { object = {} } = read<SelfSubjectReviewWriteRequest>(`${AUTHENTICATION}.SelfSubjectReview`, request);
      const status = { userInfo: userInfoOf(call.identity) };
      return { run: async () => ({ bytes: encodeMessage(`${AUTHENTICATION}.SelfSubjectReview`, { ...object, status }) }) };
    }),
    service(`${AUTHENTICATION}.TokenReviews`, (request, call) => {
      review(call, 'TokenReview');
      const { object = {} } = read<TokenReviewWriteRequest>(`${AUTHENTICATION}.TokenReview`, request);
      const { token = '', audiences = [] } = object.spec ?? {};
      if (token === '') throw badRequest('give the token that is asked about: spec.token');
      // The token does not come back: an answer is more easily shown to others than a question.
      const answer = { metadata: object.metadata, spec: { audiences }, status: reviewToken(tokens, token, audiences) };
      return { run: async () => ({ bytes: encodeMessage(`${AUTHENTICATION}.TokenReview`, answer) }) };
    }),
    service(`${AUTHORIZATION}.SelfSubjectAccessReviews`, (request, call) => {
      review(call, 'SelfSubjectAccessReview');
      const { object = {} } = read<SelfSubjectAccessReviewWriteRequest>(`${AUTHORIZATION}.SelfSubjectAccessReview`, request);
      const status = judge(call.authorizer, call.identity, object.spec ?? {});
      return { run: async () => ({ bytes: encodeMessage(`${AUTHORIZATION}.SelfSubjectAccessReview`, { ...object, status }) }) };
    }),
    service(`${AUTHORIZATION}.SubjectAccessReviews`, (request, call) => {
      review(call, 'SubjectAccessReview');
      const { object = {} } = read<SubjectAccessReviewWriteRequest>(`${AUTHORIZATION}.SubjectAccessReview`, request);
      const status = judgeOther(call.authorizer, object.spec);
      return { run: async () => ({ bytes: encodeMessage(`${AUTHORIZATION}.SubjectAccessReview`, { ...object, status }) }) };
    }),
    service(`${AUTHORIZATION}.LocalSubjectAccessReviews`, (request, call) => {
      const { object = {} } = read<LocalSubjectAccessReviewWriteRequest>(`${AUTHORIZATION}.LocalSubjectAccessReview`, request);
      const { namespace = '' } = object.metadata ?? {};
      review(call, 'LocalSubjectAccessReview', namespace);
      if (namespace === '') throw badRequest('name the namespace that is asked about: metadata.namespace');
      const { resourceAttributes: wanted } = object.spec ?? {};
      if (!wanted) throw badRequest('ask about resourceAttributes: paths belong to no namespace');
      if (wanted.namespace !== namespace)
        throw badRequest(`spec.resourceAttributes.namespace must match metadata.namespace, "${namespace}"`);
      const status = judgeOther(call.authorizer, object.spec);
      return { run: async () => ({ bytes: encodeMessage(`${AUTHORIZATION}.LocalSubjectAccessReview`, { ...object, status }) }) };
    }),
    service(`${AUTHORIZATION}.SelfSubjectRulesReviews`, (request, call) => {
      review(call, 'SelfSubjectRulesReview');
      const { object = {} } = read<SelfSubjectRulesReviewWriteRequest>(`${AUTHORIZATION}.SelfSubjectRulesReview`, request);
      const status = rulesIn(call.authorizer, call.identity, object.spec?.namespace ?? '');
      return { run: async () => ({ bytes: encodeMessage(`${AUTHORIZATION}.SelfSubjectRulesReview`, { ...object, status }) }) };
    }),
  ];
}

function read<T extends object>(kind: string, request: Uint8Array): T {
  return decodeStrictly<T>(`${kind}WriteRequest`, request, 'request');
}

function review(call: CallContext, kind: string, namespace = ''): void {
  call.authorize({ verb: 'create', kind, namespace, name: '' });
}

function userInfoOf({ user, groups, uid, extra = {} }: Identity): UserInfo {
  const texts: [string, { items: string[] }][] = Object.entries(extra).map(([name, items]) => [name, { items: [...items] }]);
  return {
    username: user,
    groups: [...groups],
    ...(uid && { uid }),
    ...(texts.length > 0 && { extra: Object.fromEntries(texts) }),
  };
}

/** What is no token of a service account can only be for the API server. */
function reviewToken(
  { accounts, all }: ReviewTokens,
  token: string,
  wanted: readonly string[],
): NonNullable<TokenReview['status']> {
  const asked = wanted.length > 0 ? wanted : [TOKEN_ISSUER];
  try {
    const reviewed = accounts?.review(token, asked);
    const identity = reviewed?.identity ?? (asked.includes(TOKEN_ISSUER) ? all.find(token) : undefined);
    if (!identity) return { authenticated: false, error: 'the token is not known to this server' };
    return {
      authenticated: true,
      user: userInfoOf(known(identity)),
      audiences: [...(reviewed?.audiences ?? [TOKEN_ISSUER])],
    };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') return { authenticated: false, error: error.message };
    throw error;
  }
}

function judgeOther(authorizer: Authorizer, spec: SubjectAccessReviewSpec = {}): SubjectAccessReviewStatus {
  const { user = '', groups = [] } = spec;
  if (user === '' && groups.length === 0) throw badRequest('name the user, or groups, whose rights are asked for');
  return judge(authorizer, { user, groups }, spec);
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
  const {
    verb = '',
    group = '',
    resource = '',
    subresource = '',
    namespace = '',
    name = '',
    fieldSelector,
    labelSelector,
  } = wanted;
  const selected: Record<string, string> = {};
  const requirements = [...(fieldSelector?.requirements ?? []), ...(labelSelector?.requirements ?? [])];
  checkSelectorTerms('fieldSelector', requirements.length + requirements.flatMap(({ values = [] }) => values).length);
  parseLabelSelector(labelSelector?.rawSelector ?? '');
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
